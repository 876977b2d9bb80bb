"""Periods in the map: which period or pane each append falls in by a rule, and whether it is late for it (§5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from calendars import Calendar, CalendarError, KeyedCalendar
from calendars.assignment import Assignment
from calendars.keyed import AnchorValue
from calendars.keyed import Version as KeyVersion
from views.checked import PeriodRule
from views.kernel.admission import NO_CLOCK
from views.kernel.decoded import Int64s
from views.kernel.relations import Versions
from views.plan import KeyedRows
from views.state import PeriodEntry
from views.state.versions import DELETED, FROM

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Booking:
    """For each row the start of its period or pane (where `booked`), its end, and whether the rule refuses it."""

    starts: Int64s
    ends: Int64s
    booked: Bools
    late: Bools


def book_shared(rule: PeriodRule, chronons: Int64s, clocks: Int64s) -> Booking:
    """By a calendar that all keys share."""
    calendar = rule.calendar
    assert isinstance(calendar, Calendar)
    found = calendar.assign(chronons)
    closed = np.zeros(len(chronons), dtype=np.bool_)
    behind = np.flatnonzero(found.valid & (clocks != NO_CLOCK) & (clocks >= found.first_end))
    if len(behind):
        closed[behind] = clocks[behind] >= calendar.add_all(found.first_end[behind], rule.grace)
    return _settled(rule, found, closed, calendar.assign(clocks[closed]) if closed.any() else None)


def _settled(rule: PeriodRule, found: Assignment, closed: Bools, running: Assignment | None) -> Booking:
    """What becomes of appends whose period is closed: refused, or booked where the slot's clock is."""
    if running is None:
        return Booking(found.starts, found.ends, found.valid, closed)
    starts, ends, booked, late = found.starts.copy(), found.ends.copy(), found.valid & ~closed, closed
    if rule.late == "next":
        rows = np.flatnonzero(closed)
        starts[rows], ends[rows], booked[rows] = running.starts, running.ends, running.valid
        late = closed.copy()
        late[rows] = ~running.valid
    return Booking(starts, ends, booked, late)


def book_keyed(
    rule: PeriodRule, calendars: Sequence[Calendar], index: npt.NDArray[np.int64], chronons: Int64s, clocks: Int64s
) -> Booking:
    """By the calendar `calendars[index]` of each row; where the index is negative there is none."""
    found = _assigned(calendars, index, chronons)
    closed = np.zeros(len(chronons), dtype=np.bool_)
    behind = np.flatnonzero(found.valid & (clocks != NO_CLOCK) & (clocks >= found.first_end))
    for row in behind.tolist():
        calendar = calendars[index[row]]
        closed[row] = clocks[row] >= calendar.add(int(found.first_end[row]), rule.grace)
    rows = np.flatnonzero(closed)
    return _settled(rule, found, closed, _assigned(calendars, index[rows], clocks[rows]) if len(rows) else None)


def _assigned(calendars: Sequence[Calendar], index: npt.NDArray[np.int64], chronons: Int64s) -> Assignment:
    there = index >= 0
    if there.all() and len(calendars):
        return KeyedCalendar.assign_keyed(index, calendars, chronons)
    nothing = np.zeros(len(chronons), dtype=np.int64)
    starts, ends, first = nothing.copy(), nothing.copy(), nothing.copy()
    valid = np.zeros(len(chronons), dtype=np.bool_)
    if there.any():
        found = KeyedCalendar.assign_keyed(index[there], calendars, chronons[there])
        starts[there], ends[there], first[there], valid[there] = found.starts, found.ends, found.first_end, found.valid
    return Assignment(starts, ends, first, valid)


def calendars_of(rule: PeriodRule, keyed: KeyedRows, versions: Versions) -> tuple[list[Calendar], dict[bytes, int]]:
    """The calendar of each key that has versions, and where it is by the encoded key."""
    calendar = rule.calendar
    assert isinstance(calendar, KeyedCalendar)
    anchors = _values(versions.table, keyed.anchor)
    zones = _values(versions.table, keyed.zone)
    since = versions.table.column(FROM).to_pylist()
    deleted = versions.table.column(DELETED).to_pylist()
    grouped: dict[bytes, list[KeyVersion]] = {}
    for row, key in enumerate(versions.keys.to_pylist()):
        stated = (since[row], None, None) if deleted[row] else (since[row], anchors[row], zones[row])
        grouped.setdefault(key, []).append(_sound(calendar, cast("KeyVersion", stated)))
    return [calendar.at(tuple(each)) for each in grouped.values()], {key: n for n, key in enumerate(grouped)}


def _values(table: pa.Table, name: str | None) -> list[AnchorValue]:
    if name is None:
        return [None] * table.num_rows
    column: Any = table.column(name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return cast("list[AnchorValue]", column.to_pylist())


def _sound(calendar: KeyedCalendar, version: KeyVersion) -> KeyVersion:
    """A version whose zone or anchor is none has no periods, like one where it is null."""
    try:
        calendar.at((version,))
    except CalendarError:
        return (version[0], None, None)
    return version


def entries(rule: PeriodRule, starts: Int64s) -> tuple[PeriodEntry, ...]:
    """The periods (or panes) behind these starts, for the state's directory."""
    calendar = rule.calendar
    assert isinstance(calendar, Calendar)
    found: list[PeriodEntry] = []
    for start in np.unique(starts).tolist():
        if calendar.overlapping:
            pane = calendar.pane_at(start)
            assert pane is not None  # a start comes from a pane
            found.append(PeriodEntry(start, pane.end))
        else:
            period = calendar.period_at(start)
            assert period is not None
            found.append(PeriodEntry(start, period.end, period.n, period.label))
    return tuple(found)
