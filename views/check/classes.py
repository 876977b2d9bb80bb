"""The class of a view (Definition 4.3) and what an append costs in it (Theorems 4.2, 4.4 and 4.5)."""

from __future__ import annotations

from views.algebra import RelationJoin, SnJoin, Summary, Union
from views.algebra.traversal import nodes
from views.checked import Bound, ViewClass

COMPLEXITY = {ViewClass.SCA1: "IM-Constant", ViewClass.SCA_JOIN: "IM-log(R)", ViewClass.SCA: "IM-R^k"}
"""Theorem 4.5: where each class lies."""

_WIDTH = {ViewClass.SCA1: 0, ViewClass.SCA_JOIN: 1, ViewClass.SCA: 2}
_ADMITTED = {"sca1": ViewClass.SCA1, "sca-join": ViewClass.SCA_JOIN, "sca": ViewClass.SCA}


def is_admitted(cls: ViewClass, admit: str) -> bool:
    return _WIDTH[cls] <= _WIDTH[_ADMITTED[admit]]


def classify(summary: Summary) -> tuple[ViewClass, Bound]:
    found = list(nodes(summary.input))
    relations = [node for node in found if isinstance(node, RelationJoin)]
    scans = sum(1 for node in relations if node.access == "scan")
    unions = sum(1 for node in found if isinstance(node, Union))
    joins = len(relations) + sum(1 for node in found if isinstance(node, SnJoin))
    cls = ViewClass.SCA if scans else ViewClass.SCA_JOIN if relations else ViewClass.SCA1
    names = tuple(dict.fromkeys(node.relation for node in reversed(relations)))
    return cls, Bound(_text(cls, unions, joins, scans, names), unions, joins, scans, names)


def _text(cls: ViewClass, unions: int, joins: int, scans: int, relations: tuple[str, ...]) -> str:
    """`O(u^j · |R|^k · log|R|)` with the numbers put in, then Theorem 4.4's part for the fold."""
    factors = [f"{unions}^{joins}"] if unions > 1 and joins else []
    factors += [f"|R|^{scans}"] if scans else []
    factors += ["log|R|"] if relations else []
    time = " · ".join(factors) or "1"
    where = f", R = {', '.join(relations)}" if relations else ""
    return f"O({time}) an append + O(log|V|) a row; u = {unions}, j = {joins}{where}; {COMPLEXITY[cls]}"
