"""The chronicle algebra (Definition 4.1) as DuckDB SQL: every operator within one sequence number, so none needs state.

Each node becomes a sub-query with the implicit columns sn, chronon, pos (and the start of the period, where a shared
calendar gave one) before its own. `pos` is a number while tuples come from one chronicle, and a list of numbers, which
SQL orders as Python does tuples, once operators put several together.

Views that differ in constants only are compiled together: their base chronicles are paired with the table of their
constants, so that a tuple is there once for each view that wants it, and every operator works within one sequence
number of one view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import assert_never

from chronicle.expressions import Expression
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
from views.plan.steps import (
    CHRONON,
    POS,
    RANK,
    SN,
    START,
    VALID_FROM,
    VALID_TO,
    VIEW,
    Finish,
    Lookup,
    Scan,
    Step,
    quoted,
)

Write = Callable[[Expression], str]
"""Expressions as SQL; a constant in which views differ becomes a column of their table of constants."""

NATIVE = frozenset({"count", "min", "max", "bool_and", "bool_or", "first", "last"})
"""Aggregates whose SQL result is the contract's, whatever the argument."""

_SAFE_DIGITS = 28
_ORDER = tuple(map(quoted, (CHRONON, SN, POS)))


def chronicle_table(name: str) -> str:
    return f"chronicle {name}"


@dataclass(frozen=True, slots=True)
class Constants:
    """A table with a row for each of the views that are compiled together: its place among them, and its constants."""

    table: str
    columns: tuple[str, ...]


@dataclass(slots=True)
class AlgebraCompiler:
    """Compiles the tree of one view, or of several that differ in `constants`, collecting the steps that must run
    before its SQL can.

    `period` is the column of the base tables that holds the view's period start, None where it has none.
    """

    write: Write
    period: str | None
    compound: bool
    constants: Constants | None = None
    steps: list[Step] = field(default_factory=list)

    @property
    def implicit(self) -> tuple[str, ...]:
        started = (SN, CHRONON, POS) if self.period is None else (SN, CHRONON, POS, START)
        return started if self.constants is None else (*started, VIEW, *self.constants.columns)

    @property
    def within(self) -> tuple[str, ...]:
        """What no operator of the chronicle algebra ever leaves: one sequence number, of one view."""
        return (SN,) if self.constants is None else (SN, VIEW)

    def _same_append(self) -> str:
        return " AND ".join(f"l.{quoted(name)} = r.{quoted(name)}" for name in self.within)

    def sql(self, node: Node) -> str:
        match node:
            case Chronicle():
                return self._base(node)
            case Select(source, predicate):
                return f"SELECT * FROM ({self.sql(source)}) WHERE {self.write(predicate)}"
            case Project(source, columns):
                computed = [f"{self.write(expression)} AS {quoted(name)}" for name, expression in columns]
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

    def _base(self, node: Chronicle) -> str:
        place = f"[{quoted(POS)}] AS {quoted(POS)}" if self.compound else quoted(POS)
        start = () if self.period is None else (f"{quoted(self.period)} AS {quoted(START)}",)
        columns = [quoted(name) for name in node.schema.names]
        tables = [quoted(chronicle_table(node.name))]
        if self.constants is not None:  # a selection above turns the product into a join by the constants
            start = (*start, *map(quoted, (VIEW, *self.constants.columns)))
            tables.append(quoted(self.constants.table))
        return f"SELECT {', '.join((SN, CHRONON, place, *start, *columns))} FROM {', '.join(tables)}"

    def _sn_join(self, node: SnJoin) -> str:
        kept = [f"l.{quoted(name)}" for name in self.implicit if name != POS]
        left = [f"l.{quoted(name)}" for name in node.left.schema.names]
        right = [f"r.{quoted(name)}" for name in node.right.schema.names]
        place = f"list_concat(l.{quoted(POS)}, r.{quoted(POS)}) AS {quoted(POS)}"
        return (
            f"SELECT {', '.join((*kept, place, *left, *right))} "
            f"FROM ({self.sql(node.left)}) l JOIN ({self.sql(node.right)}) r ON {self._same_append()}"
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
        return f"SELECT {_listed(self._least(), columns)} FROM ({source}) GROUP BY {_listed(self.within, columns)}"

    def _least(self) -> list[str]:
        """The implicit columns of a group within one append: all but pos are functions of sn."""
        whole = (*self.within, POS)
        rest = [f"any_value({quoted(name)}) AS {quoted(name)}" for name in self.implicit if name not in whole]
        return [*self.within, *rest, f"min({quoted(POS)}) AS {quoted(POS)}"]

    def _difference(self, node: Difference) -> str:
        pairs = list(zip(node.left.schema.names, node.right.schema.names, strict=True))
        equal = (f"l.{quoted(a)} IS NOT DISTINCT FROM r.{quoted(b)}" for a, b in pairs)
        same = " AND ".join([self._same_append(), *equal])
        left, right = self.sql(node.left), self.sql(node.right)
        columns = [f"l.{quoted(name)}" for name in (*self.implicit, *node.schema.names)]
        if node.distinct:
            firsts = self._first_of_equals(left, node.schema.names)
            return f"SELECT {', '.join(columns)} FROM ({firsts}) l ANTI JOIN ({right}) r ON {same}"
        equals = ", ".join(quoted(name) for name in (*self.within, *node.schema.names))
        numbered = f'SELECT *, row_number() OVER (PARTITION BY {equals} ORDER BY {quoted(POS)}) AS "@nth" FROM ({left})'
        taken = ", ".join(quoted(name) for name in (*self.within, *node.right.schema.names))
        counted = f'SELECT {taken}, count(*) AS "@taken" FROM ({right}) GROUP BY {taken}'
        return (
            f"SELECT {', '.join(columns)} FROM ({numbered}) l LEFT JOIN ({counted}) r ON {same} "
            'WHERE r."@taken" IS NULL OR l."@nth" > r."@taken"'
        )

    def _group_by_sn(self, node: GroupBySn) -> str:
        keys = [f"{self.write(expression)} AS {quoted(name)}" for name, expression in node.keys]
        grouping = _listed(self.within, [self.write(expression) for _, expression in node.keys])
        source = self.sql(node.input)
        finished = [(aggregate.name, native_sql(aggregate, self.write)) for aggregate in node.aggregates]
        if all(value for _, value in finished):
            values = [f"{value} AS {quoted(name)}" for name, value in finished]
            return f"SELECT {_listed(self._least(), [*keys, *values])} FROM ({source}) GROUP BY {grouping}"
        parts = partial_columns(node.aggregates, self.write)
        sql = f"SELECT {_listed(self._least(), [*keys, *parts])} FROM ({source}) GROUP BY {grouping}"
        kept = (*self.implicit, *(name for name, _ in node.keys))
        table = _made(sql)
        self.steps.append(Finish(table, sql, kept, node.aggregates))
        columns = [quoted(name) for name in node.schema.names]
        return f"SELECT {_listed(self.implicit, columns)} FROM {quoted(table)}"

    def _key_join(self, node: RelationJoin) -> str:
        bound, names = self._bound(node)
        keys = ", ".join(names)
        present = " AND ".join(f"{name} IS NOT NULL" for name in names)
        wanted = f"SELECT DISTINCT {keys} FROM ({bound}) WHERE {present}"
        table = _made(f"{node.relation} by {', '.join(name for name, _ in node.key)}: {wanted}")
        whose = "0" if self.constants is None else quoted(VIEW)
        here = (
            f"FROM ({bound}) i LEFT JOIN {quoted(table)} v ON {_in_force(names)} WHERE v.{quoted(VALID_FROM)} IS NULL"
        )
        self.steps.append(
            Lookup(
                table,
                node.relation,
                wanted,
                tuple(name for name, _ in node.key),
                tuple(expression.type for _, expression in node.key),
                any(expression.nullable for _, expression in node.key),
                None if node.outer else f"SELECT {whose}, count(*) {here} GROUP BY 1",
            )
        )
        return self._joined(node, bound, table, [_in_force(names)], f"i.{quoted(POS)}")

    def _scan_join(self, node: RelationJoin) -> str:
        bound, names = self._bound(node)
        table = f"all of {node.relation}"
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
        values = [f"{self.write(e)} AS {name}" for (_, e), name in zip(node.key, names, strict=True)]
        return f"SELECT *, {', '.join(values)} FROM ({source})", names

    def _joined(self, node: RelationJoin, bound: str, table: str, conditions: list[str], place: str) -> str:
        renamed = ", ".join(
            f"{quoted(column)} AS {quoted(f'{node.alias}.{column}')}" for column in _columns_of_join(node)
        )
        versions = f"SELECT * {f', {renamed}' if renamed else ''} FROM {quoted(table)}"
        if node.residual is not None:
            conditions = [*conditions, f"({self.write(node.residual)})"]
        kept = [f"i.{quoted(name)}" for name in self.implicit if name != POS]
        own = [f"i.{quoted(name)}" for name in node.input.schema.names]
        joined = [f"v.{quoted(f'{node.alias}.{column.name}')}" for column in node.columns]
        return (
            f"SELECT {', '.join((*kept, f'{place} AS {quoted(POS)}', *own, *joined))} FROM ({bound}) i "
            f"{'LEFT ' if node.outer else ''}JOIN ({versions}) v ON {' AND '.join(conditions)}"
        )


def _made(content: str) -> str:
    """The name of a step's table, by what makes it: equal steps are one, whichever view they belong to."""
    return f"made {blake2b(content.encode(), digest_size=8).hexdigest()}"


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


def native_sql(aggregate: Aggregate, write: Write) -> str | None:
    """The aggregate's final value in SQL; None where only its monoid finishes it exactly."""
    condition = write(aggregate.filter) if aggregate.filter is not None else None
    where = f" FILTER (WHERE {condition})" if condition is not None else ""
    if not aggregate.arguments:
        return f"count(*){where}"
    argument: Expression = aggregate.arguments[0]
    value = write(argument)
    match aggregate.function:
        case "first" | "last":
            present = f"{value} IS NOT NULL" + (f" AND ({condition})" if condition is not None else "")
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


def partial_columns(aggregates: Sequence[Aggregate], write: Write) -> list[str]:
    """The partial state of each aggregate, as `name.part` columns of a GROUP BY."""
    columns: list[str] = []
    for aggregate in aggregates:
        arguments = [write(argument) for argument in aggregate.arguments]
        where = write(aggregate.filter) if aggregate.filter is not None else None
        parts = monoid_of(aggregate).partial_sql(arguments, where, _ORDER)
        columns += [f"{sql} AS {quoted(f'{aggregate.name}.{part}')}" for part, sql in parts.items()]
    return columns
