"""Panes for arrays of chronons, many millions a second on one core.

Steps of elapsed time are computed; everything else is looked up in the calendar's table (`calendars.tables`), for keyed
calendars in each row's own table, all tables laid end to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calendars.calendar import Calendar
from calendars.durations import Duration, Unit
from calendars.instants import MAX_INSTANT, MIN_INSTANT
from calendars.regular import RegularCalendar
from calendars.tables import EDGE, END, FIRST_END, START, Instants, Table, table_of

Positions = npt.NDArray[np.intp]
Scalar = TypeVar("Scalar", np.int64, np.bool_)

_BLOCK = 1 << 14
"""Rows worked on at a time, so that intermediate arrays stay in the processor's cache."""

_MOST_ROUNDS = 3
"""Steps within a bucket before a row is left to binary search: only strays make buckets that crowded."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """For each chronon its pane (its period, where periods do not overlap). Where `valid` is false the chronon is in no
    period and the other fields are 0. `first_end` is the earliest end of the periods that contain the chronon."""

    starts: Instants
    ends: Instants
    first_end: Instants
    valid: npt.NDArray[np.bool_]


def assign(calendar: Calendar, chronons: Instants) -> Assignment:
    """`Calendar.assign`."""
    chronons = np.ascontiguousarray(chronons, dtype=np.int64)
    if isinstance(calendar, RegularCalendar) and calendar.every.unit is calendar.length.unit is Unit.ELAPSED:
        return _assign_elapsed(calendar, chronons)
    return _assign_by_table(_OneTable(table_of(calendar), calendar.overlapping), chronons)


def assign_keyed(index: npt.NDArray[np.integer], calendars: Sequence[Calendar], chronons: Instants) -> Assignment:
    """`KeyedCalendar.assign_keyed`: row i in the calendar `calendars[index[i]]`."""
    chronons = np.ascontiguousarray(chronons, dtype=np.int64)
    tables = [table_of(calendar) for calendar in calendars]
    overlapping = any(calendar.overlapping for calendar in calendars)
    return _assign_by_table(_ManyTables(tables, np.ascontiguousarray(index, dtype=np.intp), overlapping), chronons)


def add_all(calendar: Calendar, instants: Instants, duration: Duration) -> Instants:
    """`Calendar.add_all`."""
    if duration.unit is Unit.ELAPSED:
        return instants + np.int64(duration.micros)
    distinct, inverse = np.unique(instants, return_inverse=True)
    moved = np.array([calendar.add(instant, duration) for instant in distinct.tolist()], dtype=np.int64)
    return moved[inverse] if len(moved) else instants.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _OneTable:
    """Every row is looked up in the same table."""

    table: Table
    overlapping: bool

    def cover(self, chronons: Instants, rows: Positions) -> None:
        self.table.cover(chronons[rows])

    def panes(self) -> Instants:
        return self.table.panes

    def search(self, chronons: Instants) -> Iterator[tuple[slice, Positions]]:
        table = self.table
        edges = np.ascontiguousarray(table.panes[:, EDGE])
        base, shift, last = np.int64(table.base), np.int64(table.shift), len(table.firsts) - 1
        for rows in _blocks(len(chronons)):
            block = chronons[rows]
            bucket = (block - base) >> shift
            np.clip(bucket, 0, last, out=bucket)
            position = table.firsts.take(bucket).astype(np.intp)
            _step(edges, position, block, table.rounds)
            if table.rounds > _MOST_ROUNDS:
                position = np.searchsorted(edges, block, side="right") - 1
            yield rows, position


@dataclass(frozen=True, slots=True)
class _ManyTables:
    """Row i is looked up in `tables[index[i]]`."""

    tables: Sequence[Table]
    index: Positions
    overlapping: bool

    def cover(self, chronons: Instants, rows: Positions) -> None:
        order = rows[np.argsort(self.index[rows], kind="stable")]
        keys, begins = np.unique(self.index[order], return_index=True)
        for key, of_key in zip(keys.tolist(), np.split(order, begins[1:]), strict=True):
            self.tables[key].cover(chronons[of_key])

    def panes(self) -> Instants:
        return np.concatenate([table.panes for table in self.tables])

    def search(self, chronons: Instants) -> Iterator[tuple[slice, Positions]]:
        tables = self.tables
        edges = np.concatenate([table.panes[:, EDGE] for table in tables])
        firsts = np.concatenate([table.firsts for table in tables])
        pane_counts = np.array([len(table.panes) for table in tables], dtype=np.int64)
        bucket_counts = np.array([len(table.firsts) for table in tables], dtype=np.int64)
        placed = np.empty((len(tables), 5), dtype=np.int64)
        placed[:, 0] = [table.base for table in tables]
        placed[:, 1] = [table.shift for table in tables]
        placed[:, 2] = bucket_counts - 1
        placed[:, 3] = np.cumsum(bucket_counts) - bucket_counts
        placed[:, 4] = np.cumsum(pane_counts) - pane_counts
        rounds = max(table.rounds for table in tables)
        for rows in _blocks(len(chronons)):
            block = chronons[rows]
            base, shift, last, bucket_offset, pane_offset = placed.take(self.index[rows], axis=0).T
            bucket = (block - base) >> shift
            np.clip(bucket, 0, last, out=bucket)
            position = firsts.take(bucket + bucket_offset) + pane_offset
            _step(edges, position, block, rounds)
            if rounds > _MOST_ROUNDS:
                self._search_crowded(edges, position, rows, block)
            yield rows, position

    def _search_crowded(self, edges: Instants, position: Positions, rows: slice, block: Instants) -> None:
        """Binary search, in place, for the rows that a few steps did not bring to their pane."""
        offsets = np.cumsum([0] + [len(table.panes) for table in self.tables])
        for row in np.flatnonzero(edges.take(position + 1) <= block).tolist():
            key = self.index[rows.start + row]
            of_table = edges[offsets[key] : offsets[key + 1]]
            position[row] = offsets[key] + np.searchsorted(of_table, block[row], side="right") - 1


def _blocks(count: int) -> Iterator[slice]:
    for begin in range(0, count, _BLOCK):
        yield slice(begin, min(begin + _BLOCK, count))


def _step(edges: Instants, position: Positions, chronons: Instants, rounds: int) -> None:
    """Moves each position, in place, to the next pane while the chronon has reached that one's edge."""
    for _ in range(min(rounds, _MOST_ROUNDS)):
        position += edges.take(position + 1) <= chronons


def _assign_by_table(where: _OneTable | _ManyTables, chronons: Instants) -> Assignment:
    """Looks up every chronon; where some fall in time that is not built yet, builds it and looks up again."""
    inside, within = chronons, _within(chronons)
    if not within.all():
        inside = np.where(within, chronons, MIN_INSTANT)
    found = _look_up(where, inside)
    unseen = np.flatnonzero(found.ends < found.starts)
    if len(unseen):
        where.cover(inside, unseen)
        found = _look_up(where, inside)
    return found if inside is chronons else _only(found, within)


def _look_up(where: _OneTable | _ManyTables, chronons: Instants) -> Assignment:
    starts, ends = np.empty_like(chronons), np.empty_like(chronons)
    first_end = np.empty_like(chronons) if where.overlapping else ends
    if len(chronons) == 0:
        return Assignment(starts, ends, first_end, np.empty(0, dtype=np.bool_))
    panes = where.panes()
    for rows, position in where.search(chronons):
        found = panes.take(position, axis=0)
        starts[rows], ends[rows] = found[:, START], found[:, END]
        if where.overlapping:
            first_end[rows] = found[:, FIRST_END]
    return Assignment(starts, ends, first_end, ends > starts)


def _within(chronons: Instants) -> npt.NDArray[np.bool_]:
    return (chronons >= MIN_INSTANT) & (chronons <= MAX_INSTANT)


def _only(found: Assignment, keep: npt.NDArray[np.bool_]) -> Assignment:
    valid = found.valid & keep
    starts, ends = np.where(valid, found.starts, 0), np.where(valid, found.ends, 0)
    return Assignment(starts, ends, np.where(valid, found.first_end, 0), valid)


def _either(where: npt.NDArray[np.bool_], yes: Assignment, no: Assignment) -> Assignment:
    """Two assignments put together, row by row."""

    def merge(ours: npt.NDArray[Scalar], theirs: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        merged = np.empty(len(where), dtype=ours.dtype)
        merged[where], merged[~where] = ours, theirs
        return merged

    starts, ends = merge(yes.starts, no.starts), merge(yes.ends, no.ends)
    return Assignment(starts, ends, merge(yes.first_end, no.first_end), merge(yes.valid, no.valid))


def _assign_elapsed(calendar: RegularCalendar, chronons: Instants) -> Assignment:
    """Every step begins with a start, and has one place where an earlier or its own period ends: no table is needed.

    Near the years 1 and 9999 some of those periods do not exist; there the table knows which.
    """
    step, length = np.int64(calendar.every.micros), np.int64(calendar.length.micros)
    margin = int(step + length)
    computed = (chronons >= MIN_INSTANT + margin) & (chronons <= MAX_INSTANT - margin)
    if not computed.all():
        found = _assign_by_table(_OneTable(table_of(calendar), calendar.overlapping), chronons[~computed])
        return _either(computed, _assign_elapsed(calendar, chronons[computed]), found)
    into = (chronons - np.int64(calendar.origin)) % step
    starts = chronons - into
    if length == step:
        return Assignment(starts, ends := starts + step, ends, np.ones(len(chronons), dtype=np.bool_))
    if length < step:
        valid = into < length
        starts, ends = np.where(valid, starts, 0), np.where(valid, starts + length, 0)
        return Assignment(starts, ends, ends, valid)
    cut = length % step
    before = into < cut
    ends = starts + np.where(before, cut, step)
    first_end = ends + np.where(before, 0, cut)
    return Assignment(starts + np.where(before, 0, cut), ends, first_end, np.ones(len(chronons), dtype=np.bool_))
