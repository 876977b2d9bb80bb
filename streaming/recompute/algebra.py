"""The chronicle algebra (Definition 4.1) as Spark SQL over the tables of `tables`: one small function per operator.

The text is made from the algebra's nodes alone and knows nothing of the engine's plans. Every query has the columns
sn, chronon and `@pos` (an array, which SQL orders as the definition orders the tuples of one append), then the node's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from chronicle.definitions import Definition
from chronicle.expressions import to_spark
from streaming.recompute.aggregates import grouped
from streaming.recompute.tables import chronicle_table, versions_table
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

IMPLICIT = ("sn", "chronon", "`@pos`")


def named(name: str) -> str:
    return f"`{name}`"


@dataclass(frozen=True, slots=True)
class AlgebraWriter:
    """`seen` is a condition on sn: which appends the view was there for (all, for most)."""

    definition: Definition
    seen: str = "true"

    def sql(self, node: Node) -> str:
        match node:
            case Chronicle():
                return f"SELECT {_columns(node)} FROM {chronicle_table(node.name)} WHERE {self.seen}"
            case Select(source, predicate):
                return f"SELECT * FROM ({self.sql(source)}) WHERE {to_spark(predicate)}"
            case Project(source, columns):
                computed = [f"{to_spark(expression)} AS {named(name)}" for name, expression in columns]
                return f"SELECT {', '.join((*IMPLICIT, *computed))} FROM ({self.sql(source)})"
            case SnJoin(left, right):
                own = [*(f"l.{named(n)}" for n in left.schema.names), *(f"r.{named(n)}" for n in right.schema.names)]
                place = "concat(l.`@pos`, r.`@pos`) AS `@pos`"
                return (
                    f"SELECT {', '.join(('l.sn', 'l.chronon', place, *own))} "
                    f"FROM ({self.sql(left)}) l JOIN ({self.sql(right)}) r ON l.sn = r.sn"
                )
            case Union():
                return self._union(node)
            case Difference():
                return self._difference(node)
            case GroupBySn(source, keys, aggregates):
                return grouped(self.sql(source), keys, aggregates)
            case RelationJoin():
                return self._relation_join(node)
        assert_never(node)

    def _union(self, node: Union) -> str:
        def side(source: Node, number: int) -> str:
            pairs = zip(source.schema.names, node.schema.names, strict=True)
            columns = [f"{named(own)} AS {named(name)}" for own, name in pairs]
            place = f"concat(array({number}), `@pos`) AS `@pos`"
            return f"SELECT {', '.join(('sn', 'chronon', place, *columns))} FROM ({self.sql(source)})"

        both = f"{side(node.left, 0)} UNION ALL {side(node.right, 1)}"
        return _first_of_equals(both, node.schema.names) if node.distinct else both

    def _difference(self, node: Difference) -> str:
        names = node.left.schema.names
        pairs = zip(names, node.right.schema.names, strict=True)
        same = " AND ".join(("l.sn = r.sn", *(f"l.{named(a)} <=> r.{named(b)}" for a, b in pairs)))
        left, right = self.sql(node.left), self.sql(node.right)
        if node.distinct:
            return f"SELECT l.* FROM ({_first_of_equals(left, names)}) l LEFT ANTI JOIN ({right}) r ON {same}"
        equals, taken = _listed(("sn", *names)), _listed(("sn", *node.right.schema.names))
        columns = ", ".join(f"l.{name}" for name in (*IMPLICIT, *map(named, names)))
        return (
            f"SELECT {columns} FROM "
            f"(SELECT *, row_number() OVER (PARTITION BY {equals} ORDER BY `@pos`) AS `@nth` FROM ({left})) l "
            f"LEFT JOIN (SELECT {taken}, count(*) AS `@taken` FROM ({right}) GROUP BY {taken}) r ON {same} "
            "WHERE r.`@taken` IS NULL OR l.`@nth` > r.`@taken`"
        )

    def _relation_join(self, node: RelationJoin) -> str:
        """C × R with the version in force at the tuple's chronon."""
        bound = [f"{to_spark(expression)} AS `@bound{at}`" for at, (_, expression) in enumerate(node.key)]
        source = f"SELECT {', '.join(('*', *bound))} FROM ({self.sql(node.input)})"
        conditions = [f"i.`@bound{at}` = v.`@key{at}`" for at in range(len(node.key))]
        conditions += ["unix_micros(i.chronon) >= v.`@from`", "unix_micros(i.chronon) < v.`@to`"]
        if node.residual is not None:
            conditions.append(to_spark(node.residual))
        place = "i.`@pos`"
        if node.access == "scan":
            place = "CASE WHEN v.`@rank` IS NULL THEN i.`@pos` ELSE concat(i.`@pos`, array(v.`@rank`)) END"
        own = [f"i.{named(name)}" for name in node.input.schema.names]
        joined = [f"v.{named(f'{node.alias}.{column.name}')}" for column in node.columns]
        return (
            f"SELECT {', '.join(('i.sn', 'i.chronon', f'{place} AS `@pos`', *own, *joined))} FROM ({source}) i "
            f"{'LEFT' if node.outer else 'INNER'} JOIN ({self._versions(node)}) v ON {' AND '.join(conditions)}"
        )

    def _versions(self, node: RelationJoin) -> str:
        columns = ["`@from`", "`@to`"]
        columns += [f"{named(column)} AS `@key{at}`" for at, (column, _) in enumerate(node.key)]
        columns += [f"{named(column.name)} AS {named(f'{node.alias}.{column.name}')}" for column in node.columns]
        if node.access == "scan":
            key = ", ".join(f"{named(column)} NULLS LAST" for column in self.definition.relations[node.relation].key)
            columns.append(f"dense_rank() OVER (ORDER BY {key}) AS `@rank`")
        return f"SELECT {', '.join(columns)} FROM {versions_table(node.relation)}"


def _columns(node: Node) -> str:
    return ", ".join((*IMPLICIT, *map(named, node.schema.names)))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(named, names))


def _first_of_equals(source: str, names: tuple[str, ...]) -> str:
    """One of equal tuples of an append, the first by pos; grouping finds nulls equal."""
    columns = _listed(names)
    return (
        f"SELECT sn, min(chronon) AS chronon, min(`@pos`) AS `@pos`, {columns} FROM ({source}) GROUP BY sn, {columns}"
    )
