"""Class and bound (Definition 4.3, Theorems 4.2, 4.4 and 4.5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refusal_cases import expected, verdict_of

from chronicle.definitions import load
from views.check import ViewVerdict, check

ADMITTED = Path(__file__).with_name("admitted.yaml")

BOTH = "(SELECT sn, caller AS who, seconds AS amount FROM calls UNION ALL SELECT sn, payer, cents FROM payments)"


@pytest.mark.parametrize(
    ("query", "cls"),
    [
        ("SELECT caller, count(*) AS n FROM calls GROUP BY caller", "SCA1"),
        ("SELECT DISTINCT caller FROM calls", "SCA1"),
        ("SELECT count(*) AS n FROM calls JOIN payments USING (sn)", "SCA1"),
        (f"SELECT who, sum(amount) AS s FROM {BOTH} b GROUP BY who", "SCA1"),
        ("SELECT caller, count(*) AS n FROM (SELECT sn, caller FROM calls EXCEPT SELECT sn, payer FROM payments) d "
         "GROUP BY caller", "SCA1"),
        ("SELECT state, count(*) AS n FROM calls JOIN customers ON caller = number GROUP BY state", "SCA-join"),
        ("SELECT state, count(*) AS n FROM calls LEFT JOIN customers ON number = caller GROUP BY state", "SCA-join"),
        ("SELECT count(*) AS n FROM calls JOIN customers ON number = 'c1'", "SCA-join"),
        ("SELECT state, count(*) AS n FROM calls JOIN customers ON kind = state GROUP BY state", "SCA"),
        ("SELECT state, count(*) AS n FROM calls CROSS JOIN customers GROUP BY state", "SCA"),
        ("SELECT state, count(*) AS n FROM calls JOIN customers ON number = caller OR number = callee GROUP BY state",
         "SCA"),
    ],
)  # fmt: skip
def test_class_follows_from_how_relations_are_joined(judge: Callable[[str], ViewVerdict], query: str, cls: str) -> None:
    view = judge(query)
    assert (view.cls, view.refusals) == (cls, ())


def test_bound_of_sca1_has_neither_relation_nor_chronicle(judge: Callable[[str], ViewVerdict]) -> None:
    bound = judge("SELECT caller, count(*) AS n FROM calls GROUP BY caller").bound
    assert bound is not None
    assert bound.text == "O(1) an append + O(log|V|) a row; u = 0, j = 0; IM-Constant"


def test_bound_of_a_key_join_is_logarithmic_in_the_relation(judge: Callable[[str], ViewVerdict]) -> None:
    bound = judge("SELECT state, count(*) AS n FROM calls JOIN customers ON caller = number GROUP BY state").bound
    assert bound is not None
    assert bound.text == "O(log|R|) an append + O(log|V|) a row; u = 0, j = 1, R = customers; IM-log(R)"


def test_bound_of_a_scan_is_polynomial_in_the_relation(judge: Callable[[str], ViewVerdict]) -> None:
    bound = judge(
        "SELECT a.state, count(*) AS n FROM calls CROSS JOIN customers a CROSS JOIN customers b GROUP BY a.state"
    ).bound
    assert bound is not None
    assert bound.text == "O(|R|^2 · log|R|) an append + O(log|V|) a row; u = 0, j = 2, R = customers; IM-R^k"


def test_a_common_table_counts_as_often_as_it_is_used(judge: Callable[[str], ViewVerdict]) -> None:
    view = judge(f"WITH b AS {BOTH} SELECT x.who, count(*) AS n FROM b x JOIN b y USING (sn) GROUP BY x.who")
    assert view.bound is not None
    assert (view.bound.unions, view.bound.joins) == (2, 1)
    assert "2^1" in view.bound.text


@pytest.mark.parametrize(("admit", "refused"), [("sca", 0), ("sca-join", 1), ("sca1", 2)])
def test_admit_tightens_the_class(admit: str, refused: int) -> None:
    views = """
views:
  one: {sql: SELECT DISTINCT caller FROM calls}
  keyed: {sql: SELECT DISTINCT state FROM calls JOIN customers ON caller = number}
  scanned: {sql: SELECT DISTINCT state FROM calls CROSS JOIN customers}
"""
    verdict = verdict_of(f"admit: {admit}{views}")
    assert len(verdict.views) - len(verdict.admitted) == refused
    assert {fault.code for view in verdict.views.values() for fault in view.refusals} <= {"CH139"}


def test_every_form_is_admitted_with_the_class_beside_it() -> None:
    verdict = check(load(ADMITTED))
    assert {name: view.refusals for name, view in verdict.views.items() if view.refusals} == {}
    assert {name: view.cls for name, view in verdict.views.items()} == expected(ADMITTED)
