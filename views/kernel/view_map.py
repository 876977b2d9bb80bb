"""A program's share of a map: its steps, the late appends of its views, their partials.

The plan gives SQL and the few places where it stops (`views.plan.steps`); here these are carried out. An append is late
for a view if one of its tuples reaches the view's summarisation and its period is closed (contract: the clock).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.arrow import arrow_type
from chronicle.errors import ChronicleError
from chronicle.sequence import SLOT_BITS
from chronicle.types import DataType, Kind, Value
from views.aggregates import monoid_of
from views.aggregates.monoid import Monoid, state_at
from views.algebra import Aggregate
from views.kernel.decoded import Int64s
from views.kernel.engine import Engine, KernelError
from views.kernel.partials import Columns, ViewPartials
from views.kernel.periods import Booking, book_keyed, calendars_of, entries
from views.kernel.relations import RelationIndex, in_force_table
from views.plan import ConstantsTable, Finish, KeyedRows, Lookup, Program, Scan, Step
from views.plan.algebra_sql import chronicle_table
from views.plan.steps import CHRONON, END, SN, START, VALID_FROM, VALID_TO, VIEW, quoted
from views.state import PERIOD_END, encode_keys, state_column

Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]


@dataclass(slots=True)
class Epoch:
    """What the programs of one range share: its base tables, relation versions, clocks, and the tables that steps have
    made already."""

    engine: Engine
    relations: RelationIndex
    tables: Mapping[str, pa.Table]
    sns: Int64s
    clocks: Int64s
    between: tuple[int, int]
    bookings: Sequence[Booking]
    appended: Bools
    done: dict[str, Made] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A step's table. `complete`: every key that it was asked for had a version in force throughout the range."""

    table: pa.Table
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Mapped:
    """`late` are the places of the appends that a view refused, by view."""

    partials: ViewPartials | None
    late: Mapping[str, Int64s]
    counters: Mapping[str, int]


NOBODY: Int64s = np.empty(0, dtype=np.int64)


def map_program(epoch: Epoch, program: Program) -> Mapped:
    if _is_over(epoch, program):
        return Mapped(None, {}, {})
    try:
        return _mapped(epoch, program)
    except KernelError as error:
        raise _located(epoch, program, error) from error


def _is_over(epoch: Epoch, program: Program) -> bool:
    """Whether no append falls in any period of the program, and none is late for it: it costs nothing then. Not where
    tuples that join no version have to be counted, for these are, whatever their period."""
    if program.rule is None or any(isinstance(step, Lookup) and step.unmatched_sql for step in program.steps):
        return False
    booking = epoch.bookings[program.rule]
    return not ((booking.booked | booking.late) & epoch.appended).any()


def _mapped(epoch: Epoch, program: Program) -> Mapped:
    if program.constants is not None:
        epoch.engine.register(program.constants.name, constants_table(program.constants))
    counters: Counter[str] = Counter()
    for step in program.steps:
        _carry_out(epoch, program, step, counters)
    late: Mapping[str, Int64s] = {}
    if program.keyed is not None:
        late = _lay_down(epoch, program, program.keyed)
    elif program.rule is not None:
        late = _late_appends(epoch, program, epoch.bookings[program.rule])
    return Mapped(_partials(program, epoch.engine.query(program.partial_sql)), late, counters)


def constants_table(constants: ConstantsTable) -> pa.Table:
    """A row for each view of a program: its place, and its constants."""
    columns = {VIEW: pa.array(range(len(constants.rows)), pa.int32())}
    for place, column in enumerate(constants.columns):
        columns[column.name] = _values([row[place] for row in constants.rows], column.type)
    return pa.table(columns)


def _carry_out(epoch: Epoch, program: Program, step: Step, counters: Counter[str]) -> None:
    """Makes the step's table; one that another program has made already is shared."""
    if step.table not in epoch.done:
        epoch.done[step.table] = _made(epoch, step)
    made = epoch.done[step.table]
    epoch.engine.register(step.table, made.table)
    if isinstance(step, Lookup) and step.unmatched_sql is not None and (step.nullable or not made.complete):
        missed = epoch.engine.query(step.unmatched_sql)
        for place, count in zip(missed.column(0).to_pylist(), missed.column(1).to_pylist(), strict=True):
            counters[f"unmatched:{program.views[place]}:{step.relation}"] += count


def _made(epoch: Epoch, step: Step) -> Made:
    match step:
        case Lookup():
            asked = epoch.engine.query(step.keys_sql)
            layout = epoch.relations.relations[step.relation].layout
            order = [step.key.index(name) for name in layout.key]
            versions = epoch.relations.versions_of(step.relation, layout.key_types, asked.select(order))
            names = {f"@key{place}": name for place, name in enumerate(step.key)}
            table = in_force_table(versions, epoch.between, names, ranked=False)
            return Made(table, _throughout(table, epoch.between) == asked.num_rows)
        case Scan():
            return Made(in_force_table(epoch.relations.all_versions(step.relation), epoch.between, {}, ranked=True))
        case Finish():
            return Made(_finished(epoch.engine.query(step.sql), step.kept, step.aggregates))
    assert_never(step)


def _throughout(table: pa.Table, between: tuple[int, int]) -> int:
    """How many of these versions, at most one a key, are in force at every instant of the range."""
    since = table.column(VALID_FROM).cast(pa.int64()).to_numpy()
    until = table.column(VALID_TO).cast(pa.int64()).to_numpy()
    return int(((since <= between[0]) & (until > between[1])).sum())


def _finished(raw: pa.Table, kept: Sequence[str], aggregates: Sequence[Aggregate]) -> pa.Table:
    """The final values of a GROUP BY sn, by the monoids."""
    columns = {name: raw.column(name) for name in kept}
    for aggregate in aggregates:
        monoid = monoid_of(aggregate)
        state = monoid.finish_partial(_parts(raw, aggregate.name))
        values = [monoid.finalise(state_at(monoid.fields, state, row)) for row in range(raw.num_rows)]
        columns[aggregate.name] = _values(values, aggregate.type)
    return pa.table(columns)


def _values(values: Sequence[Value], type_: DataType) -> pa.Array:
    if type_.kind is Kind.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(arrow_type(type_))
    return pa.array(values, arrow_type(type_))


def _parts(table: pa.Table, aggregate: str) -> dict[str, pa.Array]:
    prefix = f"{aggregate}."
    return {
        name.removeprefix(prefix): _flat(table.column(name)) for name in table.column_names if name.startswith(prefix)
    }


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _late_appends(epoch: Epoch, program: Program, booking: Booking) -> Mapping[str, Int64s]:
    """The appends that a shared calendar refuses and that reach a view: the algebra over these alone."""
    late = booking.late & epoch.appended
    if not late.any():
        return {}
    sns = pa.array(epoch.sns[late])
    try:
        for name in program.chronicles:
            if name in epoch.tables:
                table = epoch.tables[name]
                epoch.engine.register(chronicle_table(name), table.filter(pc.is_in(table.column(SN), value_set=sns)))
        epoch.engine.register("late appends", pa.table({SN: sns}))
        whose = SN if program.constants is None else f"{SN}, {quoted(VIEW)}"
        reaching = epoch.engine.query(
            f'SELECT DISTINCT {whose} FROM ({program.rows_sql}) WHERE {SN} IN (SELECT {SN} FROM "late appends")'
        )
    finally:
        for name in program.chronicles:
            if name in epoch.tables:
                epoch.engine.register(chronicle_table(name), epoch.tables[name])
    return _by_view(program, _views_of(reaching), _places(epoch, reaching.column(SN).to_numpy()))


def _views_of(rows: pa.Table) -> Int32s:
    """Whose each row is, by the place among the program's views."""
    if VIEW not in rows.column_names:
        return np.zeros(rows.num_rows, np.int32)
    return rows.column(VIEW).to_numpy()  # type: ignore[no-any-return]  # pyarrow has no types


def _by_view(program: Program, views: Int32s, places: Int64s) -> dict[str, Int64s]:
    return {program.views[view]: np.unique(places[views == view]) for view in np.unique(views).tolist()}


def _places(epoch: Epoch, sns: Int64s) -> Int64s:
    return np.searchsorted(epoch.sns, sns)


def _lay_down(epoch: Epoch, program: Program, keyed: KeyedRows) -> Mapping[str, Int64s]:
    """The tuples of keyed views with the period of their own calendar each; the places of the late ones."""
    assert program.period is not None
    rows = epoch.engine.query(program.rows_sql)
    layout = epoch.relations.relations[keyed.relation].layout
    names = [f"@key{keyed.key.index(name)}" for name in layout.key]
    asked = rows.select(names).group_by(names).aggregate([])
    versions = epoch.relations.versions_of(keyed.relation, layout.key_types, asked.select(names))
    calendars, places = calendars_of(program.period, keyed, versions)
    encoded = encode_keys(layout.key_types, [rows.column(name) for name in names], rows.num_rows).dictionary_encode()
    by_key = [places.get(key, -1) for key in encoded.dictionary.to_pylist()]
    index = np.array(by_key, dtype=np.int64)[encoded.indices.to_numpy()] if by_key else NOBODY
    of_append = _places(epoch, rows.column(SN).to_numpy())
    chronons = rows.column(CHRONON).cast(pa.int64()).to_numpy()
    booking = book_keyed(program.period, calendars, index, chronons, epoch.clocks[of_append])
    table = rows.append_column(START, pa.array(booking.starts, mask=~booking.booked))
    epoch.engine.register(keyed.table, table.append_column(END, pa.array(booking.ends, mask=~booking.booked)))
    return _by_view(program, _views_of(rows)[booking.late], of_append[booking.late])


def _partials(program: Program, raw: pa.Table) -> ViewPartials | None:
    if not raw.num_rows:
        return None
    keys = encode_keys(program.key_types, [raw.column(name) for name in program.key_columns], raw.num_rows)
    starts = None if program.period is None else raw.column(START).to_numpy()
    columns: Columns = {}
    if program.keyed is not None:
        columns[PERIOD_END] = raw.column(END).to_numpy()
    for name, monoid in program.monoids:
        columns |= _state_columns(name, monoid, raw)
    shared = program.period is not None and program.keyed is None
    periods = entries(program.period, starts) if shared and program.period is not None and starts is not None else ()
    return ViewPartials(program.views, _views_of(raw), keys, starts, columns, periods)


def _state_columns(name: str, monoid: Monoid, raw: pa.Table) -> Columns:
    made = monoid.finish_partial(_parts(raw, name))
    return {state_column(name, part): values for part, values in made.items()}


def _located(epoch: Epoch, program: Program, error: ChronicleError) -> KernelError:
    """The same error with the view and the append that it is about: found by halving the views, then the appends."""
    views = program.views
    sns = epoch.sns[epoch.appended]
    while len(views) > 1:
        half = views[: len(views) // 2]
        views = half if _fails(epoch, program.only(half), sns) else views[len(views) // 2 :]
    program = program.only(views)
    while len(sns) > 1:
        half_of = sns[: len(sns) // 2]
        sns = half_of if _fails(epoch, program, half_of) else sns[len(sns) // 2 :]
    if not len(sns) or not _fails(epoch, program, sns):
        return KernelError(f"view {views[0]}: {error.message}", error.hint)
    return KernelError(
        f"view {views[0]}, append {int(sns[0])} (offset {int(sns[0]) >> SLOT_BITS}): {error.message}",
        "no view has this append yet; change the view's expression so that it can be computed, then run again",
    )


def _fails(epoch: Epoch, program: Program, sns: Int64s) -> bool:
    chosen = pa.array(sns)
    tables = {name: table.filter(pc.is_in(table.column(SN), value_set=chosen)) for name, table in epoch.tables.items()}
    for name, table in tables.items():
        epoch.engine.register(chronicle_table(name), table)
    try:
        _mapped(replace(epoch, tables=tables, done={}), program)
    except KernelError:
        return True
    return False
