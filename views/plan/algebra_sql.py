"""The chronicle algebra (Definition 4.1) as DuckDB SQL: every operator within one sequence number, so none needs state.

Each node becomes a sub-query with the implicit columns sn, chronon, pos (and the start of the period, where a shared
calendar gave one) before its own. `pos` is a number while tuples come from one chronicle, and a list of numbers, which
SQL orders as Python does tuples, once operators put several together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from chronicle.expressions import Expression, to_duckdb
from chronicle.types import Kind
from views.aggregates import monoid_of
from views.algebra import (
    Aggregate,
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
from views.plan.steps import CHRONON, POS, RANK, SN, START, VALID_FROM, VALID_TO, Finish, Lookup, Scan, Step, quoted

NATIVE = frozenset({"count", "min", "max", "bool_and", "bool_or", "first", "last"})
"""Aggregates whose SQL result is the contract's, whatever the argument."""

_SAFE_DIGITS = 28
_ORDER = tuple(map(quoted, (CHRONON, SN, POS)))


def chronicle_table(name: str) -> str:
    return f"chronicle {name}"


@dataclass(slots=True)
class AlgebraCompiler:
    """Compiles the tree of one view, collecting the steps that must run before its SQL can.

    `period` is the column of the base tables that holds the view's period start, None where it has none.
    """

    view: str
    period: str | None
    compound: bool
    steps: list[Step] = field(default_factory=list)

    @property
    def implicit(self) -> tuple[str, ...]:
        return (SN, CHRONON, POS) if self.period is None else (SN, CHRONON, POS, START)

    def sql(self, node: Node) -> str:
        match node:
            case Chronicle():
                return self._base(node)
            case Select(source, predicate):
                return f"SELECT * FROM ({self.sql(source)}) WHERE {to_duckdb(predicate)}"
            case Project(source, columns):
                computed = [f"{to_duckdb(expression)} AS {quoted(name)}" for name, expression in columns]
                return f"SELECT {_listed(self.implicit, computed)} FROM ({self.sql(source)})"
            case SnJoin():
                return self._sn_join(node)
            case Union():
                return self._union(node)
            case Difference():
                return self._difference(node)
            case GroupBySn():
                return self._group_by_sn(node)
            case RelationJoin(access="key"):
                return self._key_join(node)
            case RelationJoin():
                return self._scan_join(node)
        assert_never(node)

    def _table(self) -> str:
        return f"{self.view} {len(self.steps)}"

    def _base(self, node: Chronicle) -> str:
        place = f"[{quoted(POS)}] AS {quoted(POS)}" if self.compound else quoted(POS)
        start = () if self.period is None else (f"{quoted(self.period)} AS {quoted(START)}",)
        columns = [quoted(name) for name in node.schema.names]
        return f"SELECT {', '.join((SN, CHRONON, place, *start, *columns))} FROM {quoted(chronicle_table(node.name))}"

    def _sn_join(self, node: SnJoin) -> str:
        kept = [f"l.{quoted(name)}" for name in self.implicit if name != POS]
        left = [f"l.{quoted(name)}" for name in node.left.schema.names]
        right = [f"r.{quoted(name)}" for name in node.right.schema.names]
        place = f"list_concat(l.{quoted(POS)}, r.{quoted(POS)}) AS {quoted(POS)}"
        return (
            f"SELECT {', '.join((*kept, place, *left, *right))} "
            f"FROM ({self.sql(node.left)}) l JOIN ({self.sql(node.right)}) r ON l.sn = r.sn"
        )

    def _union(self, node: Union) -> str:
        def side(source: Node, number: int) -> str:
            kept = [quoted(name) for name in self.implicit if name != POS]
            place = f"list_prepend({number}, {quoted(POS)}) AS {quoted(POS)}"
            pairs = zip(source.schema.names, node.schema.names, strict=True)
            columns = [f"{quoted(own)} AS {quoted(name)}" for own, name in pairs]
            return f"SELECT {', '.join((*kept, place, *columns))} FROM ({self.sql(source)})"

        both = f"{side(node.left, 0)} UNION ALL {side(node.right, 1)}"
        return self._first_of_equals(both, node.schema.names) if node.distinct else both

    def _first_of_equals(self, source: str, names: Sequence[str]) -> str:
        """One of equal tuples of an append, the first by pos; grouping finds nulls equal, as the contract does."""
        columns = [quoted(name) for name in names]
        return f"SELECT {_listed(self._least(), columns)} FROM ({source}) GROUP BY {_listed((SN,), columns)}"

    def _least(self) -> list[str]:
        """The implicit columns of a group within one append: all but pos are functions of sn."""
        rest = [f"any_value({quoted(name)}) AS {quoted(name)}" for name in self.implicit if name not in (SN, POS)]
        return [SN, *rest, f"min({quoted(POS)}) AS {quoted(POS)}"]

    def _difference(self, node: Difference) -> str:
        pairs = list(zip(node.left.schema.names, node.right.schema.names, strict=True))
        same = " AND ".join(["l.sn = r.sn", *(f"l.{quoted(a)} IS NOT DISTINCT FROM r.{quoted(b)}" for a, b in pairs)])
        left, right = self.sql(node.left), self.sql(node.right)
        columns = [f"l.{quoted(name)}" for name in (*self.implicit, *node.schema.names)]
        if node.distinct:
            firsts = self._first_of_equals(left, node.schema.names)
            return f"SELECT {', '.join(columns)} FROM ({firsts}) l ANTI JOIN ({right}) r ON {same}"
        equals = ", ".join(quoted(name) for name in (SN, *node.schema.names))
        numbered = f'SELECT *, row_number() OVER (PARTITION BY {equals} ORDER BY {quoted(POS)}) AS "@nth" FROM ({left})'
        taken = ", ".join(quoted(name) for name in (SN, *node.right.schema.names))
        counted = f'SELECT {taken}, count(*) AS "@taken" FROM ({right}) GROUP BY {taken}'
        return (
            f"SELECT {', '.join(columns)} FROM ({numbered}) l LEFT JOIN ({counted}) r ON {same} "
            'WHERE r."@taken" IS NULL OR l."@nth" > r."@taken"'
        )

    def _group_by_sn(self, node: GroupBySn) -> str:
        keys = [f"{to_duckdb(expression)} AS {quoted(name)}" for name, expression in node.keys]
        grouping = _listed((SN,), [to_duckdb(expression) for _, expression in node.keys])
        source = self.sql(node.input)
        if all(native_sql(aggregate) for aggregate in node.aggregates):
            values = [f"{native_sql(aggregate)} AS {quoted(aggregate.name)}" for aggregate in node.aggregates]
            return f"SELECT {_listed(self._least(), [*keys, *values])} FROM ({source}) GROUP BY {grouping}"
        parts = partial_columns(node.aggregates)
        sql = f"SELECT {_listed(self._least(), [*keys, *parts])} FROM ({source}) GROUP BY {grouping}"
        kept = (*self.implicit, *(name for name, _ in node.keys))
        self.steps.append(Finish(self._table(), sql, kept, node.aggregates))
        columns = [quoted(name) for name in node.schema.names]
        return f"SELECT {_listed(self.implicit, columns)} FROM {quoted(self.steps[-1].table)}"

    def _key_join(self, node: RelationJoin) -> str:
        bound, names = self._bound(node)
        keys = ", ".join(names)
        present = " AND ".join(f"{name} IS NOT NULL" for name in names)
        table = self._table()
        here = (
            f"FROM ({bound}) i LEFT JOIN {quoted(table)} v ON {_in_force(names)} WHERE v.{quoted(VALID_FROM)} IS NULL"
        )
        self.steps.append(
            Lookup(
                table,
                node.relation,
                f"SELECT DISTINCT {keys} FROM ({bound}) WHERE {present}",
                tuple(name for name, _ in node.key),
                tuple(expression.type for _, expression in node.key),
                any(expression.nullable for _, expression in node.key),
                None if node.outer else f"SELECT count(*) {here}",
            )
        )
        return self._joined(node, bound, table, [_in_force(names)], f"i.{quoted(POS)}")

    def _scan_join(self, node: RelationJoin) -> str:
        bound, names = self._bound(node)
        table = self._table()
        self.steps.append(Scan(table, node.relation))
        equal = [
            f"i.{name} = v.{quoted(f'{node.alias}.{column}')}"
            for name, (column, _) in zip(names, node.key, strict=True)
        ]
        rank = f"v.{quoted(RANK)}"
        place = f"CASE WHEN {rank} IS NULL THEN i.{quoted(POS)} ELSE list_append(i.{quoted(POS)}, {rank}) END"
        return self._joined(node, bound, table, [*equal, _during()], place)

    def _bound(self, node: RelationJoin) -> tuple[str, list[str]]:
        """The input with the values that bind the relation's key, and the (quoted) names of these."""
        source = self.sql(node.input)
        if not node.key:
            return source, []
        names = [quoted(f"@key{place}") for place in range(len(node.key))]
        values = [f"{to_duckdb(e)} AS {name}" for (_, e), name in zip(node.key, names, strict=True)]
        return f"SELECT *, {', '.join(values)} FROM ({source})", names

    def _joined(self, node: RelationJoin, bound: str, table: str, conditions: list[str], place: str) -> str:
        renamed = ", ".join(
            f"{quoted(column)} AS {quoted(f'{node.alias}.{column}')}" for column in _columns_of_join(node)
        )
        versions = f"SELECT * {f', {renamed}' if renamed else ''} FROM {quoted(table)}"
        if node.residual is not None:
            conditions = [*conditions, f"({to_duckdb(node.residual)})"]
        kept = [f"i.{quoted(name)}" for name in self.implicit if name != POS]
        own = [f"i.{quoted(name)}" for name in node.input.schema.names]
        joined = [f"v.{quoted(f'{node.alias}.{column.name}')}" for column in node.columns]
        return (
            f"SELECT {', '.join((*kept, f'{place} AS {quoted(POS)}', *own, *joined))} FROM ({bound}) i "
            f"{'LEFT ' if node.outer else ''}JOIN ({versions}) v ON {' AND '.join(conditions)}"
        )


def _columns_of_join(node: RelationJoin) -> list[str]:
    needed = [column.name for column in node.columns]
    if node.access == "scan":
        needed += [name for name, _ in node.key if name not in needed]
    return needed


def _in_force(names: Iterable[str]) -> str:
    return " AND ".join([*(f"i.{name} = v.{name}" for name in names), _during()])


def _during() -> str:
    return f"i.{CHRONON} >= v.{quoted(VALID_FROM)} AND i.{CHRONON} < v.{quoted(VALID_TO)}"


def _listed(implicit: Iterable[str], others: Iterable[str]) -> str:
    first = [name if name == SN or " " in name else quoted(name) for name in implicit]
    return ", ".join((*first, *others))


def is_compound(node: Node) -> bool:
    """Whether tuples of one append come from several places, so that pos must be a list."""
    match node:
        case Chronicle():
            return False
        case SnJoin() | Union():
            return True
        case Difference(left, right):
            return is_compound(left) or is_compound(right)
        case RelationJoin():
            return node.access == "scan" or is_compound(node.input)
        case Select() | Project() | GroupBySn():
            return is_compound(node.input)
    assert_never(node)


def native_sql(aggregate: Aggregate) -> str | None:
    """The aggregate's final value in SQL; None where only its monoid finishes it exactly."""
    where = f" FILTER (WHERE {to_duckdb(aggregate.filter)})" if aggregate.filter is not None else ""
    if not aggregate.arguments:
        return f"count(*){where}"
    argument: Expression = aggregate.arguments[0]
    value = to_duckdb(argument)
    match aggregate.function:
        case "first" | "last":
            present = f"{value} IS NOT NULL" + (
                f" AND ({to_duckdb(aggregate.filter)})" if aggregate.filter is not None else ""
            )
            pick = "arg_min" if aggregate.function == "first" else "arg_max"
            return f"{pick}({value}, row({', '.join(_ORDER)})) FILTER (WHERE {present})"
        case "sum" if argument.type.kind is Kind.INT64:
            return f"CAST(sum({value}){where} AS BIGINT)"
        case "sum" if argument.type.kind is Kind.DECIMAL and argument.type.precision <= _SAFE_DIGITS:
            return f"sum({value}){where}"
        case name if name in NATIVE:
            return f"{name}({value}){where}"
        case _:
            return None


def partial_columns(aggregates: Sequence[Aggregate]) -> list[str]:
    """The partial state of each aggregate, as `name.part` columns of a GROUP BY."""
    columns: list[str] = []
    for aggregate in aggregates:
        arguments = [to_duckdb(argument) for argument in aggregate.arguments]
        where = to_duckdb(aggregate.filter) if aggregate.filter is not None else None
        parts = monoid_of(aggregate).partial_sql(arguments, where, _ORDER)
        columns += [f"{sql} AS {quoted(f'{aggregate.name}.{part}')}" for part, sql in parts.items()]
    return columns
