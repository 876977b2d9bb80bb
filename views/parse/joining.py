"""FROM and WHERE to the algebra: chronicles joined on sn, then the relations, each by its key where that is bound.

All ways to write a join come to one tree: conditions of inner joins and of WHERE are one pool (Definition 4.1 has no
other place for them), key equalities go into the join, the rest is a selection above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from chronicle.expressions import (
    ColumnRef,
    Comparison,
    ComparisonOperator,
    Expression,
    Scope,
    ScopeColumn,
    columns_of,
    conjunction,
)
from chronicle.types import Column
from views.algebra import Node, Project, RelationJoin, Select, SnJoin
from views.algebra.chronicles import IMPLICIT
from views.parse.binding import bound_condition, conditions_of
from views.parse.findings import Repair, Report
from views.parse.sequencing import without_sn_equalities
from views.parse.sources import From, Source

_IMPLICIT_NAMES = frozenset(column.name for column in IMPLICIT)


@dataclass(frozen=True, slots=True)
class Joined:
    node: Node
    scope: Scope
    using: dict[str, str]


def join(clause: From, where: exp.Expr | None, report: Report, split: Repair) -> Joined | None:
    """The chronicle that FROM and WHERE define, and the columns that may be named above it."""
    conditions = [*clause.conditions, *conditions_of(where)]
    pool = without_sn_equalities(clause, conditions, report, split)
    node, scope = _chronicles(clause) if pool is not None else (None, None)
    if pool is None or node is None or scope is None:
        return None
    relations = _named_apart(clause)
    scope = Scope((*scope.columns, *(column for r in relations for column in r.scope_columns())))
    bound = [bound_condition(qualify(condition, clause.using), scope, report) for condition in pool]
    for relation in relations:
        relation.on = [bound_condition(qualify(part, clause.using), scope, report) for part in relation.source.on]
    return Joined(_with_relations(node, relations, [part for part in bound if part is not None]), scope, clause.using)


def qualify(node: exp.Expr, using: dict[str, str]) -> exp.Expr:
    """A bare name that USING has merged means the column of the first source."""
    for column in node.find_all(exp.Column) if using else ():
        if not column.table and (alias := using.get(column.name.casefold())) is not None:
            column.set("table", exp.to_identifier(alias))
    return node


def _chronicles(clause: From) -> tuple[Node | None, Scope | None]:
    """The chronicles joined on sn. A column that two of them have is `alias.column` in the algebra."""
    sources = [source for source in clause.sources if source.node is not None]
    count = Counter(column.name.casefold() for source in sources for column in source.columns)
    joined: Node | None = None
    visible: list[ScopeColumn] = []
    for source in sources:
        assert source.node is not None
        ids = {c.name: c.name if count[c.name.casefold()] == 1 else f"{source.alias}.{c.name}" for c in source.columns}
        node: Node = source.node
        if any(name != id_ for name, id_ in ids.items()):
            node = Project(node, tuple((ids[c.name], ColumnRef(c.name, c.type, c.nullable)) for c in source.columns))
        joined = node if joined is None else SnJoin(joined, node)
        visible += [ScopeColumn(source.alias, c.name, ids[c.name], c.type, c.nullable) for c in source.columns]
        visible += [ScopeColumn(source.alias, c.name, c.name, c.type, c.nullable) for c in IMPLICIT]
    return joined, Scope(tuple(visible))


@dataclass(slots=True)
class _Relation:
    """A relation of FROM under the name that it has in the algebra."""

    source: Source
    name: str
    on: Sequence[Expression | None] = ()

    def scope_columns(self) -> list[ScopeColumn]:
        return [
            ScopeColumn(self.source.alias, c.name, f"{self.name}.{c.name}", c.type, c.nullable or self.source.outer)
            for c in self.source.columns
        ]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(f"{self.name}.{column.name}" for column in self.source.columns)


def _named_apart(clause: From) -> list[_Relation]:
    """The relation's own name, whatever its alias, unless that would be taken twice."""
    relations = [source for source in clause.sources if source.node is None]
    count = Counter(source.relation for source in relations)
    taken = {source.alias.casefold() for source in clause.sources if source.node is not None}
    return [
        _Relation(s, s.relation if count[s.relation] == 1 and s.relation.casefold() not in taken else s.alias)
        for s in relations
    ]


def _with_relations(node: Node, relations: list[_Relation], pool: list[Expression]) -> Node:
    """Joins, one after another, the first relation whose whole key is bound by what is there; if none, by a scan."""
    waiting = list(relations)
    while waiting:
        available = frozenset(node.schema.names) | _IMPLICIT_NAMES
        relation = next((r for r in waiting if _is_bound(r, pool, available)), waiting[0])
        waiting.remove(relation)
        node, pool = _joined(node, relation, pool, available)
    return Select(node, conjunction(pool)) if pool else node


def _candidates(relation: _Relation, pool: list[Expression]) -> list[Expression]:
    return [part for part in relation.on if part is not None] if relation.source.outer else pool


def _is_bound(relation: _Relation, pool: list[Expression], available: frozenset[str]) -> bool:
    bindings = _bindings(relation, _candidates(relation, pool), available)
    definition = relation.source.definition
    return definition is not None and set(bindings) == set(definition.key)


def _bindings(
    relation: _Relation, conditions: list[Expression], available: frozenset[str]
) -> dict[str, tuple[Expression, Expression]]:
    """For each key column that an equality binds: the expression that it equals, and that condition."""
    found: dict[str, tuple[Expression, Expression]] = {}
    assert relation.source.definition is not None
    keys = {f"{relation.name}.{key}": key for key in relation.source.definition.key}
    for condition in conditions:
        if not isinstance(condition, Comparison) or condition.operator is not ComparisonOperator.EQ:
            continue
        for side, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if isinstance(side, ColumnRef) and side.name in keys and columns_of(other) <= available:
                found.setdefault(keys[side.name], (other, condition))
    return found


def _joined(
    node: Node, relation: _Relation, pool: list[Expression], available: frozenset[str]
) -> tuple[Node, list[Expression]]:
    source = relation.source
    definition = source.definition
    assert definition is not None
    conditions = _candidates(relation, pool)
    bindings = _bindings(relation, conditions, available)
    used = [condition for _, condition in bindings.values()]
    rest = [condition for condition in conditions if not any(condition is other for other in used)]
    by_key = set(bindings) == set(definition.key)
    if source.outer:
        residual = rest
    else:
        here = available | relation.ids
        residual = (
            [] if by_key else [part for part in rest if columns_of(part) & relation.ids and columns_of(part) <= here]
        )
        pool = [part for part in rest if not any(part is other for other in residual)]
    key = tuple((name, bindings[name][0]) for name in definition.key if name in bindings)
    columns: tuple[Column, ...] = definition.columns.columns
    access = RelationJoin(
        node,
        source.relation,
        relation.name,
        key,
        "key" if by_key else "scan",
        columns,
        conjunction(residual) if residual else None,
        source.outer,
    )
    return access, pool
