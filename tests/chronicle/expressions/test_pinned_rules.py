"""What engines disagree on, pinned: each rule of docs/expressions.md by example, in Python and in DuckDB.

The same texts go through Spark in one job at the end.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from agreement import FAILURE, DuckDb, Outcome, Row, Spark, bound, in_python, same
from drawing import SCOPE

from chronicle.expressions import ExpressionError, bind, parse, render

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX = 2**63 - 1
WIDEST = Decimal("99999999999999999999999999999.999999999")


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp()) * 1_000_000


ROW: Row = {
    "i": MAX,
    "j": None,
    "p": Decimal("10.00"),
    "q": Decimal("0.000000"),
    "w": WIDEST,
    "d": 2.675,
    "s": "Straße",
    "t": None,
    "b": None,
    "c": True,
    "at": micros("2026-11-01T05:30:00+00:00"),  # 01:30 in New York, for the first time that night
    "day": date(2026, 3, 1),
}

RULES: dict[str, dict[str, Outcome]] = {
    "null logic is SQL's": {
        "b and false": False,
        "b and true": None,
        "b or true": True,
        "not b": None,
        "j = j": None,
        "j is null": True,
        "1 in (2, j)": None,
        "1 in (1, j)": True,
        "i not in (1, null)": None,
        "concat(s, t)": None,
        "greatest(1, j, 3)": 3,
        "case when b then 1 else 2 end": 2,
        "nullif(i, i)": None,
    },
    "whole numbers overflow loudly": {
        "i + 1": FAILURE,
        "-(-i - 1)": FAILURE,
        "abs(-i - 1)": FAILURE,
        "i * 2": FAILURE,
        "cast(s as int64)": FAILURE,
        "i + 1 > 0": FAILURE,
        "i * 2 = 3": FAILURE,
        "i + 1 in (5)": FAILURE,
        "b and i + 1 > 0": FAILURE,
        "case when b then p end >= cast(s as int64)": FAILURE,
        "case when b then p end + cast(s as int64)": FAILURE,
        "concat(case when b then s end, cast(i + 1 as string))": FAILURE,
        "case when c then 0 else i + 1 end": 0,
        "coalesce(i, i + 1)": MAX,
    },
    "division of exact numbers has scale 9, half away from zero": {
        "2 / (i - i + 3)": Decimal("0.666666667"),
        "-2 / (i - i + 3)": Decimal("-0.666666667"),
        "p / 4": Decimal("2.500000000"),
        "(i - i + 1) / 2000000000": Decimal("0.000000001"),
        "(i - i - 1) / 2000000000": Decimal("-0.000000001"),
        "(i - i + 1) / 2000000001": Decimal("0E-9"),
        "w / 1": WIDEST,
    },
    "a divisor of zero gives null, whatever the dividend": {
        "p / 0": None,
        "p / q": None,
        "w / q": None,
        "(-w) / extract(dow from day)": None,
        "i % 0": None,
        "d / 0": None,
        "w / j": None,
        "(i + 1) / 0": FAILURE,
    },
    "round is half away from zero": {
        "round(d, 2)": 2.68,
        "round(p / 4)": Decimal("3"),
        "round(-p / 4)": Decimal("-3"),
        "round(p + 0.005, 2)": Decimal("10.01"),
        "round(i, -1)": FAILURE,
        "round(i - 7, -1)": 9223372036854775800,
        "floor(-p / 4)": Decimal("-3"),
        "ceil(-p / 4)": Decimal("-2"),
    },
    "decimals have at most 38 digits": {
        "w + 0.000000001": FAILURE,
        "w * 10": FAILURE,
        "-w": Decimal("-99999999999999999999999999999.999999999"),
        "abs(w - w - 1)": Decimal("1.000000000"),
        "w - 0.000000001": Decimal("99999999999999999999999999999.999999998"),
        "w / 0.01": FAILURE,
    },
    "a double that a decimal has too few digits for is no number of it": {
        "cast(d - d + 1.0000000000000002e17 as decimal(20,3))": FAILURE,
        "cast(d - d + 5e16 as decimal(20,3))": Decimal("50000000000000000.000"),
        "cast(d - d - 1e35 as decimal(38,3))": FAILURE,
        "cast(d - d - 1e3 as decimal(5,2))": FAILURE,
        "cast(d - d + 9.99994e2 as decimal(5,2))": Decimal("999.99"),
        "cast(d - d + 9.99995e2 as decimal(5,2))": FAILURE,
    },
    "texts are compared and counted by code point": {
        "s < 'StraΩ'": True,
        "'Z' < 'a'": True,
        "'ﬀ' < '𝒳'": True,
        "'a' = 'A'": False,
        "length('𝒳y')": 2,
        "length(s)": 6,
        "upper(s)": "STRAẞE",
        "substr(s, -2)": "ße",
        "substr(s, 0, 2)": "St",
        "s like 'Stra_e'": True,
        "s like '%!_' escape '!'": False,
    },
    "a remainder has the sign of the dividend": {
        "(i - i - 7) % 3": -1,
        "(i - i + 7) % -3": 1,
        "-p % 3": Decimal("-1.00"),
        "(-5.5e0) % (d - d + 2)": -1.5,
    },
    "names ignore case unless they are quoted": {
        "I": MAX,
        "R.S": "Straße",
        '"s"': "Straße",
    },
    "extract and date_trunc go by the wall clock of a zone, UTC by default": {
        "extract(hour from at)": 5,
        "extract(hour from at at time zone 'America/New_York')": 1,
        "extract(day from at at time zone 'Asia/Kolkata')": 1,
        "extract(dow from day)": 0,
        "extract(isodow from day)": 7,
        "date_trunc('day', at)": micros("2026-11-01T00:00:00+00:00"),
        "date_trunc('day', at, 'America/New_York')": micros("2026-11-01T04:00:00+00:00"),
        "date_trunc('hour', at, 'Asia/Kolkata')": micros("2026-11-01T05:30:00+00:00"),
        "date_trunc('month', day)": date(2026, 3, 1),
        "date_trunc('week', day)": date(2026, 2, 23),
        "at >= '2026-11-01T00:30:00-05:00'": True,
        "cast(at as string)": "2026-11-01T05:30:00Z",
    },
}
CASES = [pytest.param(text, wanted, id=f"{rule}: {text}") for rule, of in RULES.items() for text, wanted in of.items()]


@pytest.fixture(scope="module")
def duckdb() -> DuckDb:
    return DuckDb()


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_python_and_duckdb_keep_the_rule(duckdb: DuckDb, text: str, wanted: Outcome) -> None:
    expression = bind(parse(text), SCOPE)
    (in_process,) = in_python(expression, [ROW])
    assert same(in_process, wanted), in_process
    (in_sql,) = duckdb.outcomes(expression, [ROW], [wanted])
    assert same(in_sql, wanted), in_sql


@pytest.mark.spark
def test_spark_keeps_every_rule(spark: SparkSession) -> None:
    engine = Spark(spark)
    wanted = {text: outcome for of in RULES.values() for text, outcome in of.items()}
    meant = {text: bind(parse(text), SCOPE) for text in wanted}
    found = engine.outcomes(list(meant.values()), [ROW], [[outcome] for outcome in wanted.values()])
    assert dict(zip(meant, (outcome for (outcome,) in found), strict=True)) == wanted
    assert [text for text, outcome in wanted.items() if outcome is FAILURE and not engine.fails(meant[text], ROW)] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9223372036854775807 + 1", "CH308"),
        ("nosuch + 1", "CH301"),
        ('"S"', "CH301"),
        ("i + s", "CH304"),
        ("s = 1", "CH304"),
        ("now() > at", "CH122"),
        ("random() > d", "CH123"),
        ("sum(i)", "CH311"),
        ("i || s", "CH303"),
        ("sqrt(d)", "CH303"),
        ("s ilike 'a'", "CH303"),
        ("date_trunc('fortnight', at)", "CH305"),
        ("extract(hour from day)", "CH304"),
        ("extract(hour from at at time zone 'Mars/Olympus')", "CH307"),
        ("at > '2026-11-01 00:00:00'", "CH307"),
        ("cast('x' as int64)", "CH307"),
        ("w * w * w * w * w", "CH306"),
        ("i +", "CH309"),
        ("(" * 100 + "i" + ")" * 100, "CH310"),
    ],
)
def test_what_has_no_meaning_is_refused_by_its_code(text: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        bind(parse(text), SCOPE)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        "(i + 1) * -j - (3 - i)",
        "not (b or c) and (c or i > 0)",
        "(b and c) is not null",
        "i between 1 and 7 or s not like 'a!%%' escape '!'",
        "case when b then p else round(q, 2) end / 60",
        "date_trunc('day', at, 'America/New_York') < timestamp '2026-03-08T07:00:00Z'",
        "extract(hour from at at time zone 'Asia/Kolkata') in (1, 2)",
        "concat(upper(s), substr(t, 2, 3), 'it''s')",
        "cast(p as string) = coalesce(t, '')",
    ],
)
def test_the_text_that_explain_shows_binds_to_the_same_expression(text: str) -> None:
    expression = bound(text)
    assert expression is not None
    assert bind(parse(render(expression)), SCOPE) == expression
