"""One meaning in three evaluators: Python, DuckDB and Spark have the same outcomes over random expressions and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from agreement import FAILURE, DuckDb, Outcome, Row, Spark, bound, in_python, same
from drawing import expressions, rows
from hypothesis import assume, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_A_JOB = 40
"""Expressions that Spark compiles and runs together; one job costs much more than one expression in it."""

some_rows = st.lists(rows(), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def duckdb() -> DuckDb:
    return DuckDb()


@pytest.fixture(scope="module")
def spark_sql(spark: SparkSession) -> Spark:
    return Spark(spark)


@settings(max_examples=max(300, settings.default.max_examples))
@given(expressions(), some_rows)
def test_duckdb_and_python_have_the_same_outcome_for_every_row(duckdb: DuckDb, text: str, rows: list[Row]) -> None:
    expression = bound(text)
    assume(expression is not None)
    assert expression is not None
    expected = in_python(expression, rows)
    _require_same(text, rows, expected, duckdb.outcomes(expression, rows, expected))


@pytest.mark.spark
@settings(max_examples=max(3, settings.default.max_examples // IN_A_JOB))
@given(st.lists(expressions(), min_size=IN_A_JOB, max_size=IN_A_JOB), some_rows)
def test_spark_and_python_have_the_same_outcome_for_every_row(
    spark_sql: Spark, texts: list[str], rows: list[Row]
) -> None:
    meant = {text: expression for text in texts if (expression := bound(text)) is not None}
    expected = {text: in_python(expression, rows) for text, expression in meant.items()}
    found = spark_sql.outcomes(list(meant.values()), rows, list(expected.values()))
    for text, outcomes in zip(meant, found, strict=True):
        _require_same(text, rows, expected[text], outcomes)
    for text, row in _failing(expected, rows)[:5]:
        assert spark_sql.fails(meant[text], row), f"{text} fails in Python over {row}"


def _failing(expected: dict[str, list[Outcome]], rows: Sequence[Row]) -> list[tuple[str, Row]]:
    return [
        (text, row)
        for text, outcomes in expected.items()
        for outcome, row in zip(outcomes, rows, strict=True)
        if outcome is FAILURE
    ]


def _require_same(text: str, rows: Sequence[Row], expected: Sequence[Outcome], found: Sequence[Outcome]) -> None:
    for row, one, other in zip(rows, expected, found, strict=True):
        assert same(one, other), f"{text} is {one!r} in Python and {other!r} in SQL over {row}"
