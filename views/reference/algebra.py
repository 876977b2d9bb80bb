"""The chronicle algebra, Definition 4.1, over whole chronicles: one small function per operator.

A chronicle is a list of tuples, each with its sequence number. Every operator says in its own words that it compares
sequence numbers; none relies on being handed the tuples of one append.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from chronicle.expressions import Expression, evaluator
from chronicle.types import Value
from views.algebra import (
    Chronicle,
    Difference,
    GroupBySn,
    Node,
    Project,
    RelationJoin,
    Select,
    SnJoin,
    Union,
)
from views.reference.admission import Database
from views.reference.aggregates import aggregated
from views.reference.versions import Moment, Row


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of a chronicle; `pos` orders those of one append."""

    sn: int
    chronon: int
    pos: tuple[int, ...]
    values: Row
    admitted: Moment
    clock_before: int | None

    @property
    def environment(self) -> Mapping[str, Value]:
        """What expressions may name."""
        return {**self.values, "sn": self.sn, "chronon": self.chronon}


Tuples = list[Tuple]


@dataclass(slots=True)
class Interpreter:
    """Evaluates nodes over a database, and counts the tuples that an inner join dropped for want of a version."""

    database: Database
    unmatched: int = field(default=0)

    def chronicle(self, node: Node) -> Tuples:
        match node:
            case Chronicle():
                return self.base(node)
            case Select():
                return select(self.chronicle(node.input), node.predicate)
            case Project():
                return project(self.chronicle(node.input), node.columns)
            case SnJoin():
                return sn_join(self.chronicle(node.left), self.chronicle(node.right))
            case Union():
                names = node.schema.names
                return union(self.chronicle(node.left), self.chronicle(node.right), names, distinct=node.distinct)
            case Difference():
                return difference(self.chronicle(node.left), self.chronicle(node.right), distinct=node.distinct)
            case GroupBySn():
                return group_by_sn(self.chronicle(node.input), node)
            case RelationJoin():
                return [joined for each in self.chronicle(node.input) for joined in self.relation_join(each, node)]
        assert_never(node)

    def base(self, node: Chronicle) -> Tuples:
        """A base chronicle: all tuples ever appended to it."""
        return [
            Tuple(
                append.sn,
                append.chronon,
                (at,),
                {name: row[name] for name in node.schema.names},
                append.admitted,
                append.clock_before,
            )
            for append in self.database.appends
            if append.chronon is not None
            for at, row in enumerate(append.tuples.get(node.name, ()))
        ]

    def relation_join(self, each: Tuple, node: RelationJoin) -> Tuples:
        """C × R: with the relation as it was at the tuple's chronon (§2.3)."""
        relation = self.database.relations[node.relation]
        bound = {name: evaluator(expression)(each.environment) for name, expression in node.key}
        if node.access == "key":
            row = relation.in_force(tuple(bound[name] for name in relation.key), each.chronon, each.admitted)
            candidates = [] if row is None else [(each.pos, row)]
            self.unmatched += row is None and not node.outer
        else:
            rows = enumerate(relation.rows_in_force(each.chronon, each.admitted))
            candidates = [
                ((*each.pos, rank), row)
                for rank, row in rows
                if all(value is not None and row[name] == value for name, value in bound.items())
            ]
        joined = [_with_relation(each, pos, row, node) for pos, row in candidates]
        matching = joined if node.residual is None else select(joined, node.residual)
        if matching or not node.outer:
            return matching
        return [_with_relation(each, each.pos, None, node)]


def _with_relation(each: Tuple, pos: tuple[int, ...], row: Row | None, node: RelationJoin) -> Tuple:
    columns = {f"{node.alias}.{c.name}": None if row is None else row[c.name] for c in node.columns}
    return replace(each, pos=pos, values={**each.values, **columns})


def select(tuples: Tuples, predicate: Expression) -> Tuples:
    """σ_p(C): those for which the predicate is true; null is not."""
    holds = evaluator(predicate)
    return [each for each in tuples if holds(each.environment) is True]


def project(tuples: Tuples, columns: Sequence[tuple[str, Expression]]) -> Tuples:
    """Π(C) with the sequence number kept."""
    computed = [(name, evaluator(expression)) for name, expression in columns]
    return [replace(each, values={name: value(each.environment) for name, value in computed}) for each in tuples]


def sn_join(left: Tuples, right: Tuples) -> Tuples:
    """C1 ⋈ C2 on equal sequence numbers."""
    return [replace(a, pos=a.pos + b.pos, values={**a.values, **b.values}) for a in left for b in right if a.sn == b.sn]


def union(left: Tuples, right: Tuples, names: Sequence[str], *, distinct: bool) -> Tuples:
    """C1 ∪ C2: columns are matched by place and named as on the left."""
    renamed = [replace(b, values=dict(zip(names, b.values.values(), strict=True))) for b in right]
    both = [replace(a, pos=(0, *a.pos)) for a in left] + [replace(b, pos=(1, *b.pos)) for b in renamed]
    return _first_of_equals(both) if distinct else both


def difference(left: Tuples, right: Tuples, *, distinct: bool) -> Tuples:
    """C1 − C2: of sets, or (EXCEPT ALL) of bags, where each tuple on the right takes away one equal one."""
    if distinct:
        taken = {_identity(b) for b in right}
        return [a for a in _first_of_equals(left) if _identity(a) not in taken]
    to_drop = Counter(_identity(b) for b in right)
    kept: Tuples = []
    for a in sorted(left, key=_order):
        if to_drop[_identity(a)]:
            to_drop[_identity(a)] -= 1
        else:
            kept.append(a)
    return kept


def group_by_sn(tuples: Tuples, node: GroupBySn) -> Tuples:
    """GROUPBY(C, [sn, G...], [A...])."""
    keys = [(name, evaluator(expression)) for name, expression in node.keys]

    def group_of(each: Tuple) -> tuple[Value, ...]:
        return (each.sn, *(key(each.environment) for _, key in keys))

    grouped: Tuples = []
    for group, members in grouped_by(tuples, group_of):
        _, *key_values = group
        names = [name for name, _ in keys]
        aggregates = {a.name: aggregated(a, members) for a in node.aggregates}
        first = min(members, key=_order)
        grouped.append(replace(first, values={**dict(zip(names, key_values, strict=True)), **aggregates}))
    return grouped


def grouped_by(
    tuples: Iterable[Tuple], group_of: Callable[[Tuple], tuple[Value, ...]]
) -> list[tuple[tuple[Value, ...], Tuples]]:
    """The groups with their members; nulls are one group, as in SQL."""
    groups: dict[tuple[Value, ...], Tuples] = {}
    for each in tuples:
        groups.setdefault(tuple(same(value) for value in group_of(each)), []).append(each)
    return list(groups.items())


NAN = float("nan")


def same(value: Value) -> Value:
    """A value that Python finds equal to itself where SQL does: every NaN is this one, and -0.0 is 0.0."""
    if isinstance(value, float):
        return NAN if value != value else value + 0.0
    return value


def _order(each: Tuple) -> tuple[int, int, tuple[int, ...]]:
    return (each.chronon, each.sn, each.pos)


def _identity(each: Tuple) -> tuple[Value, ...]:
    """What makes two tuples equal: the sequence number and the values, by place; nulls are equal."""
    return (each.sn, *(same(value) for value in each.values.values()))


def _first_of_equals(tuples: Tuples) -> Tuples:
    first: dict[tuple[Value, ...], Tuple] = {}
    for each in sorted(tuples, key=_order):
        first.setdefault(_identity(each), each)
    return list(first.values())
