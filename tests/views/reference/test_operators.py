"""Each operator of Definition 4.1 on one small append, with the answer that its definition gives."""

from __future__ import annotations

import pytest
from worked import column, outcome, rows, taken

from chronicle.types import Value

GROUP = """
chronicles:
  a: {columns: {k: string, n: int64?}}
  b: {columns: {k: string, n: int64?}}
relations:
  r: {key: [id, part], columns: {id: string, part: int64, v: int64}}
views:
  v: {sql: "SQL"}
"""
TUPLES = {
    "a": [{"k": "x", "n": 1}, {"k": "x", "n": 1}, {"k": "x", "n": 2}, {"k": "y", "n": None}],
    "b": [{"k": "x", "n": 1}, {"k": "y", "n": None}, {"k": "z", "n": 5}],
    "r": [{"id": "x", "part": p, "v": 10 * p, "_from": "2026-01-01T00:00:00Z"} for p in (2, 1)],
}
LATER = {"a": [{"k": "z", "n": 5}], "b": [{"k": "x", "n": 2}]}


def answer(sql: str) -> list[tuple[Value, ...]]:
    """The rows of the view after two appends: no operator may mix them."""
    messages = taken("2026-01-01T00:00:00Z", TUPLES), taken("2026-01-02T00:00:00Z", LATER)
    return [tuple(row.values()) for row in rows(outcome(GROUP.replace("SQL", sql), *messages), "v")]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT k, count(*) AS c FROM a WHERE n > 1 GROUP BY k", [("x", 1), ("z", 1)]),
        ("SELECT k, count(*) AS c FROM a WHERE NOT n = 1 GROUP BY k", [("x", 1), ("z", 1)]),
        (
            "SELECT k, sum(m) AS s FROM (SELECT sn, k, n * 2 AS m FROM a WHERE n > 1) AS p GROUP BY k",
            [("x", 4), ("z", 10)],
        ),
    ],
)
def test_selection_keeps_what_is_true_and_projection_computes(sql: str, expected: list[tuple[Value, ...]]) -> None:
    assert answer(sql) == expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("UNION ALL", [("x", 5), ("y", 2), ("z", 2)]),  # z is in two appends, once on each side
        ("UNION", [("x", 3), ("y", 1), ("z", 2)]),  # (x,1) and (x,2) of the first append, (x,2) of the second
        ("EXCEPT ALL", [("x", 2), ("z", 1)]),
        ("EXCEPT", [("x", 1), ("z", 1)]),
    ],
)
def test_unions_and_differences_are_within_one_sequence_number(
    operator: str, expected: list[tuple[Value, ...]]
) -> None:
    sql = f"SELECT k, count(*) AS c FROM (SELECT sn, k, n FROM a {operator} SELECT sn, k, n FROM b) AS u GROUP BY k"
    assert answer(sql) == expected


def test_the_sn_join_pairs_the_tuples_of_one_append_only() -> None:
    sql = "SELECT a.k, count(*) AS c FROM a JOIN b USING (sn) GROUP BY a.k"
    assert answer(sql) == [("x", 9), ("y", 3), ("z", 1)]


def test_grouping_by_sn_makes_one_tuple_per_append_and_group() -> None:
    inner = "SELECT sn, k, sum(n) AS s, count(*) AS c FROM a GROUP BY sn, k"
    assert answer(f"SELECT k, max(s) AS s, sum(c) AS c, count(*) AS g FROM ({inner}) AS q GROUP BY k") == [
        ("x", 4, 3, 1),
        ("y", None, 1, 1),
        ("z", 5, 1, 1),
    ]


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("JOIN r ON r.id = k AND r.part = n", [("x", 3, 40)]),  # by the whole key
        ("LEFT JOIN r ON r.id = k AND r.part = n", [("x", 3, 40), ("y", 1, None), ("z", 1, None)]),
        ("JOIN r ON r.id = k", [("x", 6, 90)]),  # by a part of it: each joins both rows
        ("LEFT JOIN r ON r.id = k AND r.v > 10", [("x", 3, 60), ("y", 1, None), ("z", 1, None)]),
    ],
)
def test_a_relation_joins_by_key_by_a_part_of_it_and_outer(join: str, expected: list[tuple[Value, ...]]) -> None:
    assert answer(f"SELECT k, count(*) AS c, sum(r.v) AS s FROM a {join} GROUP BY k") == expected


def test_a_product_with_a_relation_has_every_row_in_force() -> None:
    assert answer("SELECT count(*) AS c, sum(r.v) AS s FROM a CROSS JOIN r") == [(10, 150)]


def test_a_projection_without_sn_is_the_set_of_rows_ever_seen() -> None:
    assert answer("SELECT DISTINCT k, n FROM a") == [("x", 1), ("x", 2), ("y", None), ("z", 5)]


def test_first_and_last_are_by_chronon_then_sn_then_position() -> None:
    group = """
chronicles:
  a: {columns: {n: int64, at: timestamp}, chronon: at}
views:
  v: {from: a, select: {first: first(n), last: last(n)}}
"""
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    messages = [
        taken(late, {"a": [{"n": 1, "at": late}, {"n": 2, "at": late}]}),
        taken(late, {"a": [{"n": 3, "at": early}, {"n": 4, "at": early}]}),
    ]
    assert column(outcome(group, *messages), "v", "first") == {(): 3}
    assert column(outcome(group, *messages), "v", "last") == {(): 2}
