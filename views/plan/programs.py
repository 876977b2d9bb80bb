"""The views of a group as programs: views that differ in constants only are one program over a table of constants.

This is §5.2 of the paper, "identifying affected persistent views": a join of the appends with the constants finds the
views that an append affects, through an index where the constants are compared with `=`, instead of asking every view.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

from chronicle.expressions import DuckDbWriter, Expression, Literal, to_duckdb
from chronicle.types import Column, DataType, Value
from views.aggregates.monoid import Monoid
from views.algebra import Chronicle
from views.algebra.traversal import nodes
from views.checked import CheckedView, PeriodRule
from views.plan.algebra_sql import AlgebraCompiler, Constants, Write, is_compound, partial_columns
from views.plan.steps import END, START, VIEW, Finish, Step, quoted


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """A view with a calendar per key: its tuples are laid down in `table` with the values that bind the relation's key
    (`@key0`, ...), so that each can be given the period of its own calendar before they are grouped."""

    table: str
    relation: str
    key: tuple[str, ...]
    key_types: tuple[DataType, ...]
    anchor: str | None
    zone: str | None


@dataclass(frozen=True, slots=True)
class ConstantsTable:
    """What the views of a program differ in: `rows` has the constants of each view, in the order of the program's."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """How the map makes the partials of views: run the steps, then `partial_sql`, one row per view, group and period.

    `rows_sql` are the tuples that the summarisations take in. A program of several views has `constants`, and its rows
    say in `@view` whose they are. `rule` is the place of the period rule among the group's, for a calendar that all
    keys share. An epoch without tuples of any of `chronicles` leaves the views as they are.
    """

    views: tuple[str, ...]
    chronicles: frozenset[str]
    key_types: tuple[DataType, ...]
    monoids: tuple[tuple[str, Monoid], ...]
    steps: tuple[Step, ...]
    rows_sql: str
    partial_sql: str
    period: PeriodRule | None
    rule: int | None
    keyed: KeyedRows | None
    constants: ConstantsTable | None = None

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(group_column(place) for place in range(len(self.key_types)))

    @property
    def relations(self) -> frozenset[str]:
        """The relations that decide the views' rows."""
        joined = {step.relation for step in self.steps if not isinstance(step, Finish)}
        return frozenset(joined | ({self.keyed.relation} if self.keyed else set()))

    def only(self, wanted: Collection[str]) -> Program:
        """The program without views that are not wanted."""
        kept = [place for place, name in enumerate(self.views) if name in wanted]
        if len(kept) == len(self.views):
            return self
        constants = self.constants
        if constants is not None:
            constants = replace(constants, rows=tuple(constants.rows[place] for place in kept))
        return replace(self, views=tuple(self.views[place] for place in kept), constants=constants)


def group_column(place: int) -> str:
    return f"@group{place}"


def rule_column(place: int) -> str:
    """The column of the base tables that holds the start of a tuple's period by a shared rule."""
    return f"@start{place}"


def constant_column(place: int) -> str:
    return f"@constant{place}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A view on its way into a program: its layout's monoids, and its rule's place."""

    view: CheckedView
    monoids: tuple[tuple[str, Monoid], ...]
    rule: int | None


def programs_of(views: Sequence[Planned]) -> tuple[Program, ...]:
    """One program for all views whose SQL is equal but for its constants, in the order of the first of each."""
    alike: dict[Hashable, list[tuple[Planned, list[Literal]]]] = {}
    for planned in views:
        lifted = _Lifted(None)
        program = _compiled(planned, lifted.write, Constants("constants", ()))
        types = tuple(constant.type for constant in lifted.constants)
        shape = replace(program, views=(), constants=None)
        alike.setdefault((shape, types), []).append((planned, lifted.constants))
    return tuple(_program(number, members) for number, members in enumerate(alike.values()))


def program_of(view: Planned) -> Program:
    """The program of one view by itself."""
    return _compiled(view, to_duckdb, None)


def _program(number: int, members: Sequence[tuple[Planned, list[Literal]]]) -> Program:
    first = members[0][0]
    if len(members) == 1:
        return program_of(first)
    by_place = zip(*(constants for _, constants in members), strict=True)
    differing = [place for place, constants in enumerate(by_place) if _vary(constants)]
    lifted = _Lifted(frozenset(differing))
    name = f"constants {number}"
    program = _compiled(first, lifted.write, Constants(name, tuple(map(constant_column, differing))))
    columns = tuple(Column(constant_column(place), lifted.constants[place].type) for place in differing)
    rows = tuple(tuple(constants[place].value for place in differing) for _, constants in members)
    names = tuple(planned.view.name for planned, _ in members)
    return replace(program, views=names, constants=ConstantsTable(name, columns, rows))


def _vary(constants: Sequence[Literal]) -> bool:
    return len({repr(constant.value) for constant in constants}) > 1


class _Lifted:
    """Writes expressions with their constants, by their place among all that are written, as columns of a table: those
    of `places`, or all of them."""

    def __init__(self, places: frozenset[int] | None) -> None:
        self._places = places
        self.constants: list[Literal] = []

    def write(self, expression: Expression) -> str:
        return _LiftingWriter(self).write(expression)

    def column(self, literal: Literal) -> str | None:
        place = len(self.constants)
        self.constants.append(literal)
        return quoted(constant_column(place)) if self._places is None or place in self._places else None


class _LiftingWriter(DuckDbWriter):
    def __init__(self, lifted: _Lifted) -> None:
        super().__init__(quoted)
        self._lifted = lifted

    def literal(self, literal: Literal) -> str:
        if literal.value is None:
            return super().literal(literal)
        return self._lifted.column(literal) or super().literal(literal)


def _compiled(planned: Planned, write: Write, constants: Constants | None) -> Program:
    view = planned.view
    source = view.summary.input
    period = None if planned.rule is None else rule_column(planned.rule)
    compiler = AlgebraCompiler(write, period, is_compound(source), constants)
    rows = compiler.sql(source)
    keyed = _keyed_rows(view)
    if keyed is not None and view.period is not None and view.period.keyed_by is not None:
        bound = [
            f"{write(expression)} AS {quoted(f'@key{place}')}"
            for place, (_, expression) in enumerate(view.period.keyed_by.key)
        ]
        rows = f"SELECT *, {', '.join(bound)} FROM ({rows})"
    summarised = rows if keyed is None else f"SELECT * FROM {quoted(keyed.table)}"
    return Program(
        (view.name,),
        frozenset(node.name for node in nodes(source) if isinstance(node, Chronicle)),
        tuple(column.type for column in view.keys),
        planned.monoids,
        tuple(compiler.steps),
        rows,
        _partial_sql(view, summarised, write, [] if constants is None else [quoted(VIEW)]),
        view.period,
        planned.rule,
        keyed,
    )


def _keyed_rows(view: CheckedView) -> KeyedRows | None:
    if view.period is None or view.period.keyed_by is None:
        return None
    by = view.period.keyed_by
    names = tuple(name for name, _ in by.key)
    types = tuple(expression.type for _, expression in by.key)
    return KeyedRows("keyed rows", by.relation, names, types, by.anchor, by.zone)


def _partial_sql(view: CheckedView, rows: str, write: Write, whose: list[str]) -> str:
    """The summarisation (Definition 4.3) of an epoch's tuples: keys, period, and each aggregate's partial."""
    keys = [f"{write(e)} AS {quoted(group_column(place))}" for place, (_, e) in enumerate(view.summary.keys)]
    selected = [*whose, *keys]
    where = ""
    if view.period is not None:
        selected.append(quoted(START))
        where = f" WHERE {quoted(START)} IS NOT NULL"
    grouping = ", ".join(str(place + 1) for place in range(len(selected)))
    if view.period is not None and view.period.keyed_by is not None:
        selected.append(f"min({quoted(END)}) AS {quoted(END)}")
    selected += partial_columns(view.summary.aggregates, write)
    if not grouping:  # without keys there is one row, once something was appended
        return f"SELECT {', '.join([*selected, 'true AS _'])} FROM ({rows}) HAVING count(*) > 0"
    return f"SELECT {', '.join(selected)} FROM ({rows}){where} GROUP BY {grouping}"
