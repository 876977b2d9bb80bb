"""Predicates as near to the chronicle as they can go: before joins, unions and groupings, so that fewer tuples meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from chronicle.expressions import Expression, columns_of, conjunction, conjuncts, rename, substitute
from views.algebra import (
    Chronicle,
    Difference,
    GroupBySn,
    Node,
    Project,
    RelationJoin,
    Select,
    SnJoin,
    Summary,
    Union,
)
from views.algebra.chronicles import IMPLICIT

_IMPLICIT = frozenset(column.name for column in IMPLICIT)


def push_down(summary: Summary) -> Summary:
    return replace(summary, input=_push(summary.input, ()))


def _push(node: Node, wanted: Sequence[Expression]) -> Node:
    """The same tuples as a selection of `wanted` over `node`."""
    match node:
        case Chronicle():
            return _select(node, wanted)
        case Select(below, predicate):
            return _push(below, (*conjuncts(predicate), *wanted))
        case Project(below, columns):
            values = dict(columns)
            return Project(_push(below, [substitute(part, values) for part in wanted]), columns)
        case SnJoin(left, right):
            first, rest = _split(wanted, left)
            second, above = _split(rest, right)
            return _select(SnJoin(_push(left, first), _push(right, second)), above)
        case RelationJoin():
            first, above = _split(wanted, node.input)
            return _select(replace(node, input=_push(node.input, first)), above)
        case Union(left, right, distinct):
            names = dict(zip(left.schema.names, right.schema.names, strict=True))
            return Union(_push(left, wanted), _push(right, [rename(part, names) for part in wanted]), distinct)
        case Difference(left, right, distinct):
            return Difference(_push(left, wanted), _push(right, ()), distinct)
        case GroupBySn(below, keys, aggregates):
            values = dict(keys)
            known = values.keys() | _IMPLICIT
            first = [substitute(part, values) for part in wanted if columns_of(part) <= known]
            above = [part for part in wanted if not columns_of(part) <= known]
            return _select(GroupBySn(_push(below, first), keys, aggregates), above)
    assert_never(node)


def _split(wanted: Sequence[Expression], side: Node) -> tuple[list[Expression], list[Expression]]:
    """Those that this side can decide alone, and the others."""
    known = frozenset(side.schema.names) | _IMPLICIT
    return [p for p in wanted if columns_of(p) <= known], [p for p in wanted if not columns_of(p) <= known]


def _select(node: Node, wanted: Sequence[Expression]) -> Node:
    return Select(node, conjunction(wanted)) if wanted else node
