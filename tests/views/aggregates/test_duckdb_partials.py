"""The partial that DuckDB computes for a group is the one that plain Python prepares from the group's values."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
from aggregate_cases import CASES, TYPES, agree, monoid_for, values
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.types import DataType, Kind
from views.aggregates.monoid import BLOB, Contribution, state_at

_ARROW = {
    Kind.STRING: pa.string(),
    Kind.INT64: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOL: pa.bool_(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.DATE: pa.date32(),
}


def _arrow(kind: DataType) -> pa.DataType:
    return pa.decimal128(kind.precision, kind.scale) if kind.kind is Kind.DECIMAL else _ARROW[kind.kind]


rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 5), st.booleans(), *(values(t) for t in TYPES)),
    max_size=12,
)


def _table(drawn: list[tuple[Any, ...]]) -> pa.Table:
    head = {
        "g": pa.array([r[0] for r in drawn], pa.int64()),
        "chronon": pa.array([r[2] for r in drawn], pa.int64()),
        "sn": pa.array([r[2] for r in drawn], pa.int64()),
        "pos": pa.array([[r[1], i] for i, r in enumerate(drawn)], pa.list_(pa.int64())),
        "keep": pa.array([r[3] for r in drawn], pa.bool_()),
    }
    body = {
        f"c{i}": pa.array([r[4 + i] for r in drawn], pa.int64()).cast(_arrow(t))
        if t.kind is Kind.TIMESTAMP
        else pa.array([r[4 + i] for r in drawn], _arrow(t))
        for i, t in enumerate(TYPES)
    }
    return pa.table(head | body)


def _partials(table: pa.Table, where: str | None) -> pa.Table:
    columns = ["g"]
    for case, (function, argument) in enumerate(CASES):
        parts = monoid_for(function, argument).partial_sql([f'"c{TYPES.index(argument)}"'], where)
        columns += [f'{sql} AS "{case}.{name}"' for name, sql in parts.items()]
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("appended", table)
        return connection.sql(f"SELECT {', '.join(columns)} FROM appended GROUP BY g ORDER BY g").to_arrow_table()


def _check(drawn: list[tuple[Any, ...]], where: str | None) -> None:
    result = _partials(_table(drawn), where)
    for case, (function, argument) in enumerate(CASES):
        monoid = monoid_for(function, argument)
        prefix = f"{case}."
        raw = {
            name.removeprefix(prefix): result[name].combine_chunks()
            for name in result.column_names
            if name.startswith(prefix)
        }
        columns = monoid.finish_partial(raw)
        for field in monoid.fields:
            assert columns[field.name].dtype == (object if field.dtype == BLOB else field.dtype), (function, field)
        for row, group in enumerate(result["g"].to_pylist()):
            given_values = [
                Contribution(r[4 + TYPES.index(argument)], r[2], r[2], (r[1], i))
                for i, r in enumerate(drawn)
                if r[0] == group and (where is None or r[3])
            ]
            made = state_at(monoid.fields, columns, row)
            assert agree(monoid, made, monoid.prepare(given_values)), (function, argument, made, given_values)


@settings(max_examples=4)
@given(drawn=rows)
def test_duckdb_makes_the_partial_that_python_prepares(drawn: list[tuple[Any, ...]]) -> None:
    _check(drawn, None)


@settings(max_examples=4)
@given(drawn=rows)
def test_duckdb_makes_the_partial_of_the_tuples_that_pass_the_filter(drawn: list[tuple[Any, ...]]) -> None:
    _check(drawn, '"keep"')
