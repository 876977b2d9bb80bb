"""Columns that nothing above uses are dropped where they come from: in the chronicle and in the joined relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from chronicle.expressions import ColumnRef, Expression, columns_of
from chronicle.types import Schema
from views.algebra import (
    Aggregate,
    Chronicle,
    Difference,
    Distinct,
    GroupBy,
    GroupBySn,
    Node,
    Project,
    RelationJoin,
    Select,
    SnJoin,
    Summary,
    Union,
)

Names = frozenset[str]


def prune(summary: Summary) -> Summary:
    match summary:
        case GroupBy(below, keys, aggregates):
            return replace(summary, input=_prune(below, _used((e for _, e in keys), aggregates)))
        case Distinct(below, columns):
            return replace(summary, input=_prune(below, _used(e for _, e in columns)))
    assert_never(summary)


def _used(expressions: Iterable[Expression], aggregates: Iterable[Aggregate] = ()) -> Names:
    inside = (e for a in aggregates for e in (*a.arguments, *((a.filter,) if a.filter is not None else ())))
    return frozenset().union(*map(columns_of, expressions), *map(columns_of, inside))


def _prune(node: Node, needed: Names) -> Node:
    """A node that gives at least the needed columns; a predicate's own may come along."""
    match node:
        case Chronicle(name, schema):
            return Chronicle(name, Schema(tuple(column for column in schema.columns if column.name in needed)))
        case Select(below, predicate):
            return Select(_prune(below, needed | columns_of(predicate)), predicate)
        case Project(below, columns):
            kept = tuple((name, value) for name, value in columns if name in needed)
            return Project(_prune(below, _used(value for _, value in kept)), kept)
        case SnJoin(left, right):
            return SnJoin(_prune(left, needed), _prune(right, needed))
        case Union(left, right, distinct):
            names = left.schema.names
            kept_names = names if distinct else tuple(name for name in names if name in needed)
            places = [names.index(name) for name in kept_names]
            other = tuple(right.schema.names[place] for place in places)
            return Union(_exactly(left, kept_names), _exactly(right, other), distinct)
        case Difference(left, right, distinct):
            return Difference(_exactly(left, left.schema.names), _exactly(right, right.schema.names), distinct)
        case GroupBySn(below, keys, aggregates):
            counted = tuple(aggregate for aggregate in aggregates if aggregate.name in needed)
            return GroupBySn(_prune(below, _used((e for _, e in keys), counted)), keys, counted)
        case RelationJoin():
            return _relation_join(node, needed)
    assert_never(node)


def _relation_join(node: RelationJoin, needed: Names) -> RelationJoin:
    residual = columns_of(node.residual) if node.residual is not None else frozenset[str]()
    below = _prune(node.input, needed | residual | _used(value for _, value in node.key))
    columns = tuple(c for c in node.columns if f"{node.alias}.{c.name}" in needed | residual)
    return replace(node, input=below, columns=columns)


def _exactly(node: Node, names: tuple[str, ...]) -> Node:
    """These columns in this order: both sides of a union or difference are matched by place."""
    below = _prune(node, frozenset(names))
    if below.schema.names == names:
        return below
    columns = (below.schema[name] for name in names)
    return Project(below, tuple((c.name, ColumnRef(c.name, c.type, c.nullable)) for c in columns))
