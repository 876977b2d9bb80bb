"""What the three evaluators make of an expression over rows: a value, or a failure, for each row.

An engine's query fails as a whole. So the rows that Python has a value for are asked in one query, and each row for
which Python fails is asked alone, where the engine must fail too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from drawing import COLUMNS, SCOPE

from chronicle.arrow import arrow_type, spark_type
from chronicle.expressions import (
    SPARK_SETTINGS,
    EvaluationError,
    Expression,
    ExpressionError,
    bind,
    evaluator,
    parse,
    to_duckdb,
    to_spark,
)
from chronicle.types import DataType, Value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Value]

SCHEMA = pa.schema([pa.field(name, arrow_type(type_), null) for name, (type_, null) in COLUMNS.items()])


@dataclass(frozen=True, slots=True)
class Failure:
    """The row has no value: an overflow, or a text that cannot be cast."""


FAILURE = Failure()
Outcome = Value | Failure


def bound(text: str) -> Expression | None:
    """The typed expression, or None where the text has no meaning (a constant that overflows, too many digits)."""
    try:
        return bind(parse(text), SCOPE)
    except ExpressionError:
        return None


def in_python(expression: Expression, rows: Sequence[Row]) -> list[Outcome]:
    evaluate = evaluator(expression)

    def outcome(row: Row) -> Outcome:
        try:
            return evaluate(row)
        except EvaluationError:
            return FAILURE

    return [outcome(row) for row in rows]


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA)


def plain(column: pa.ChunkedArray) -> list[Value]:
    """Values as Python's evaluator has them: instants are microseconds."""
    if pa.types.is_timestamp(column.type):
        return [None if value is None else int(value) for value in column.cast(pa.int64()).to_pylist()]
    values: list[Value] = column.to_pylist()
    return values


def same(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


class DuckDb:
    """A connection whose own time zone is a trap: nothing that we write may depend on it."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'Asia/Tokyo'")

    def outcomes(self, expression: Expression, rows: Sequence[Row], expected: Sequence[Outcome]) -> list[Outcome]:
        found: list[Outcome] = [FAILURE] * len(rows)
        well = [at for at, outcome in enumerate(expected) if outcome is not FAILURE]
        for at, value in zip(well, self._values(expression, [rows[at] for at in well]), strict=True):
            found[at] = value
        for at in sorted(set(range(len(rows))) - set(well)):
            try:
                (found[at],) = self._values(expression, [rows[at]])
            except duckdb.Error:
                found[at] = FAILURE
        return found

    def _values(self, expression: Expression, rows: Sequence[Row]) -> list[Value]:
        if not rows:
            return []
        self.connection.register("r", table_of(rows))
        answer = self.connection.sql(f"SELECT {to_duckdb(expression)} AS x FROM r").to_arrow_table()
        column = answer.column("x")
        _require_type(column.type, expression.type)
        return plain(column)


def _require_type(found: pa.DataType, type_: DataType) -> None:
    if pa.types.is_timestamp(found):
        assert found.tz is not None, "an instant has a zone"
    else:
        assert found == arrow_type(type_), f"{found} is not {type_}"


class Spark:
    """Many expressions in one job: each is a column, which leaves out the rows for which Python fails."""

    def __init__(self, spark: SparkSession) -> None:
        self.session = spark.newSession()
        for name, value in SPARK_SETTINGS.items():
            self.session.conf.set(name, value)
        # Otherwise small tables are computed by the optimiser, and not by the generated code that jobs run.
        self.compiled = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"

    def outcomes(
        self, expressions: Sequence[Expression], rows: Sequence[Row], expected: Sequence[Sequence[Outcome]]
    ) -> list[list[Outcome]]:
        self.session.conf.set("spark.sql.optimizer.excludedRules", self.compiled)
        numbered = table_of(rows).append_column("row", pa.array(range(len(rows)), pa.int64()))
        frame = self.session.createDataFrame(numbered)
        columns = [
            f"{_except(to_spark(expression), outcomes)} AS x{at}"
            for at, (expression, outcomes) in enumerate(zip(expressions, expected, strict=True))
        ]
        answer = frame.selectExpr("row", *columns)
        for expression, field in zip(expressions, answer.schema.fields[1:], strict=True):
            assert field.dataType.simpleString().upper() == spark_type(expression.type), expression
        table = answer.toArrow().sort_by("row")
        found: list[list[Outcome]] = []
        for at, outcomes in enumerate(expected):
            values = plain(table.column(f"x{at}"))
            found.append([FAILURE if e is FAILURE and v is None else v for e, v in zip(outcomes, values, strict=True)])
        return found

    def fails(self, expression: Expression, row: Row) -> bool:
        from pyspark.errors import PySparkException

        self.session.conf.unset("spark.sql.optimizer.excludedRules")
        try:
            self.session.createDataFrame(table_of([row])).selectExpr(f"{to_spark(expression)} AS x").toArrow()
        except PySparkException:
            return True
        return False


def _except(text: str, outcomes: Sequence[Outcome]) -> str:
    failing = [str(at) for at, outcome in enumerate(outcomes) if outcome is FAILURE]
    return f"(CASE WHEN row NOT IN ({', '.join(failing)}) THEN {text} END)" if failing else text
