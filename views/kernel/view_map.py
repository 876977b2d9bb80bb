"""One view's share of a map: its steps, its late appends, its partials.

The plan gives SQL and the few places where it stops (`views.plan.steps`); here these are carried out. An append is late
for a view if one of its tuples reaches the view's summarisation and its period is closed (contract: the clock).
"""

from __future__ import annotations

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
from chronicle.types import Kind, Value
from views.aggregates import monoid_of
from views.aggregates.monoid import Monoid, state_at
from views.algebra import Aggregate
from views.kernel.decoded import Int64s
from views.kernel.engine import Engine, KernelError
from views.kernel.partials import Columns, ViewPartials
from views.kernel.periods import Booking, book_keyed, calendars_of, entries
from views.kernel.relations import RelationIndex, in_force_table
from views.plan import Finish, KeyedRows, Lookup, Scan, Step, ViewPlan
from views.plan.algebra_sql import chronicle_table
from views.plan.steps import CHRONON, END, SN, START, VALID_FROM, VALID_TO
from views.state import PERIOD_END, encode_keys, state_column

Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Epoch:
    """What the views of one range share: its base tables, relation versions, clocks, and steps already carried out."""

    engine: Engine
    relations: RelationIndex
    tables: Mapping[str, pa.Table]
    sns: Int64s
    clocks: Int64s
    between: tuple[int, int]
    bookings: Sequence[Booking]
    appended: Bools
    done: dict[Step, Made] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A step's table. `complete`: every key that it was asked for had a version in force throughout the range."""

    table: pa.Table
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Mapped:
    """`late` are the places of the appends that the view refused."""

    partials: ViewPartials | None
    late: Int64s
    counters: Mapping[str, int]


NOBODY: Int64s = np.empty(0, dtype=np.int64)


def map_view(epoch: Epoch, view: ViewPlan) -> Mapped:
    try:
        return _mapped(epoch, view)
    except KernelError as error:
        raise _located(epoch, view, error) from error


def _mapped(epoch: Epoch, view: ViewPlan) -> Mapped:
    counters: dict[str, int] = {}
    for step in view.steps:
        _carry_out(epoch, view, step, counters)
    if view.keyed is not None:
        late = _lay_down(epoch, view, view.keyed)
    elif view.rule is not None:
        late = _late_appends(epoch, view, epoch.bookings[view.rule])
    else:
        late = NOBODY
    return Mapped(_partials(view, epoch.engine.query(view.partial_sql)), late, counters)


def _carry_out(epoch: Epoch, view: ViewPlan, step: Step, counters: dict[str, int]) -> None:
    """Makes the step's table; one that another view has made already is shared."""
    shared = replace(step, table="")
    if shared not in epoch.done:
        epoch.done[shared] = _made(epoch, step)
    made = epoch.done[shared]
    epoch.engine.register(step.table, made.table)
    if isinstance(step, Lookup) and step.unmatched_sql is not None and (step.nullable or not made.complete):
        name = f"unmatched:{view.name}:{step.relation}"
        missed = epoch.engine.query(step.unmatched_sql).column(0)[0].as_py()
        if missed:
            counters[name] = counters.get(name, 0) + missed


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
        columns[aggregate.name] = _array(aggregate, values)
    return pa.table(columns)


def _array(aggregate: Aggregate, values: Sequence[Value]) -> pa.Array:
    if aggregate.type.kind is Kind.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(arrow_type(aggregate.type))
    return pa.array(values, arrow_type(aggregate.type))


def _parts(table: pa.Table, aggregate: str) -> dict[str, pa.Array]:
    prefix = f"{aggregate}."
    return {
        name.removeprefix(prefix): _flat(table.column(name)) for name in table.column_names if name.startswith(prefix)
    }


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _late_appends(epoch: Epoch, view: ViewPlan, booking: Booking) -> Int64s:
    """The appends that a shared calendar refuses and that reach the view: its algebra over these alone."""
    late = booking.late & epoch.appended
    if not late.any():
        return NOBODY
    sns = pa.array(epoch.sns[late])
    try:
        for name in view.chronicles:
            if name in epoch.tables:
                table = epoch.tables[name]
                epoch.engine.register(chronicle_table(name), table.filter(pc.is_in(table.column(SN), value_set=sns)))
        epoch.engine.register("late appends", pa.table({SN: sns}))
        reaching = epoch.engine.query(
            f'SELECT DISTINCT {SN} FROM ({view.rows_sql}) WHERE {SN} IN (SELECT {SN} FROM "late appends") ORDER BY 1'
        )
    finally:
        for name in view.chronicles:
            if name in epoch.tables:
                epoch.engine.register(chronicle_table(name), epoch.tables[name])
    return _places(epoch, reaching.column(0).to_numpy())


def _places(epoch: Epoch, sns: Int64s) -> Int64s:
    return np.searchsorted(epoch.sns, sns)


def _lay_down(epoch: Epoch, view: ViewPlan, keyed: KeyedRows) -> Int64s:
    """A keyed view's tuples with the period of their own calendar each; the places of the late ones."""
    assert view.period is not None
    rows = epoch.engine.query(view.rows_sql)
    layout = epoch.relations.relations[keyed.relation].layout
    names = [f"@key{keyed.key.index(name)}" for name in layout.key]
    asked = rows.select(names).group_by(names).aggregate([])
    versions = epoch.relations.versions_of(keyed.relation, layout.key_types, asked.select(names))
    calendars, places = calendars_of(view.period, keyed, versions)
    encoded = encode_keys(layout.key_types, [rows.column(name) for name in names], rows.num_rows).dictionary_encode()
    by_key = [places.get(key, -1) for key in encoded.dictionary.to_pylist()]
    index = np.array(by_key, dtype=np.int64)[encoded.indices.to_numpy()] if by_key else NOBODY
    of_append = _places(epoch, rows.column(SN).to_numpy())
    chronons = rows.column(CHRONON).cast(pa.int64()).to_numpy()
    booking = book_keyed(view.period, calendars, index, chronons, epoch.clocks[of_append])
    table = rows.append_column(START, pa.array(booking.starts, mask=~booking.booked))
    epoch.engine.register(keyed.table, table.append_column(END, pa.array(booking.ends, mask=~booking.booked)))
    return np.unique(of_append[booking.late])


def _partials(view: ViewPlan, raw: pa.Table) -> ViewPartials | None:
    if not raw.num_rows:
        return None
    keys = encode_keys(view.layout.key_types, [raw.column(name) for name in view.key_columns], raw.num_rows)
    starts = None if view.period is None else raw.column(START).to_numpy()
    columns: Columns = {}
    if view.keyed is not None:
        columns[PERIOD_END] = raw.column(END).to_numpy()
    for name, monoid in view.layout.monoids:
        columns |= _state_columns(name, monoid, raw)
    shared = view.period is not None and view.keyed is None
    periods = entries(view.period, starts) if shared and view.period is not None and starts is not None else ()
    return ViewPartials(keys, starts, columns, periods)


def _state_columns(name: str, monoid: Monoid, raw: pa.Table) -> Columns:
    made = monoid.finish_partial(_parts(raw, name))
    return {state_column(name, part): values for part, values in made.items()}


def _located(epoch: Epoch, view: ViewPlan, error: ChronicleError) -> KernelError:
    """The same error with the view and the append that it is about: found by halving the appends."""
    sns = epoch.sns[epoch.appended]
    while len(sns) > 1:
        half = sns[: len(sns) // 2]
        sns = half if _fails(epoch, view, half) else sns[len(sns) // 2 :]
    if not len(sns) or not _fails(epoch, view, sns):
        return KernelError(f"view {view.name}: {error.message}", error.hint)
    return KernelError(
        f"view {view.name}, append {int(sns[0])} (offset {int(sns[0]) >> SLOT_BITS}): {error.message}",
        "no view has this append yet; change the view's expression so that it can be computed, then run again",
    )


def _fails(epoch: Epoch, view: ViewPlan, sns: Int64s) -> bool:
    chosen = pa.array(sns)
    tables = {name: table.filter(pc.is_in(table.column(SN), value_set=chosen)) for name, table in epoch.tables.items()}
    for name, table in tables.items():
        epoch.engine.register(chronicle_table(name), table)
    try:
        _mapped(replace(epoch, tables=tables, done={}), view)
    except KernelError:
        return True
    return False
