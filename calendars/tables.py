"""Tables of panes, laid out so that the pane of a chronon is found in a step or two.

A table covers the stretches of time in which chronons have occurred, in chunks of a few periods, so one stray chronon
in the year 1 costs one chunk and not two thousand years of panes. Above the sorted edges lies a grid of equal buckets:
a shift finds the bucket, the bucket names the pane in force where it begins, and at most `rounds` edges lie inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calendars.periods import Extent

if TYPE_CHECKING:
    from calendars.calendar import Calendar

Instants = npt.NDArray[np.int64]

EDGE, START, END, FIRST_END = range(4)
"""Columns of a table: where a lookup enters the pane, its start and end, and the earliest end of the periods that hold
it. A gap has start = end = 0; time that is not built yet has end < start."""

_PERIODS_PER_CHUNK = 8
_UNSEEN = np.array([[np.iinfo(np.int64).min, 1, 0, 0]], dtype=np.int64)
_AFTER_ALL = np.array([[np.iinfo(np.int64).max, 1, 0, 0]], dtype=np.int64)


class Table:
    """The panes of one calendar, as far as they were asked for. `panes` has a row before and one after all others."""

    __slots__ = ("_calendar", "_parts", "_seen", "base", "firsts", "panes", "rounds", "shift", "width")

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._seen: set[int] = set()
        self._parts: dict[int, tuple[int, Instants]] = {}
        self.width = max(calendar.typical * _PERIODS_PER_CHUNK, 1)
        self.panes: Instants = np.concatenate([_UNSEEN, _AFTER_ALL])
        self.base, self.shift, self.rounds = 0, 62, 0
        self.firsts: npt.NDArray[np.int32] = np.zeros(1, dtype=np.int32)

    def cover(self, chronons: Instants) -> None:
        """Builds what these chronons need."""
        needed = set(np.unique(chronons // self.width).tolist()) - self._seen
        for first, until in _runs(sorted(needed)):
            rows = _build(self._calendar, first * self.width, until * self.width)
            self._parts[first] = (until, rows)
        self._seen |= needed
        self._lay_out()

    def _lay_out(self) -> None:
        rows = [_UNSEEN]
        for first in sorted(self._parts):
            until, built = self._parts[first]
            rows.append(built)
            if until not in self._parts:
                unseen = _UNSEEN.copy()
                unseen[0, EDGE] = until * self.width
                rows.append(unseen)
        panes = np.concatenate([*rows, _AFTER_ALL])
        again = (panes[1:, START:] == panes[:-1, START:]).all(axis=1)
        again[-1] = False
        self.panes = panes[np.concatenate([[True], ~again])]
        self._index()

    def _index(self) -> None:
        edges = self.panes[:, EDGE]
        span = int(edges[-2] - edges[1])
        self.shift = max((span // (2 * len(edges))).bit_length() - 1, 0)
        width = 1 << self.shift
        self.base = int(edges[1]) - width
        buckets = self.base + (np.arange((span >> self.shift) + 3, dtype=np.int64) << self.shift)
        firsts = np.searchsorted(edges, buckets, side="right") - 1
        lasts = np.searchsorted(edges, buckets + (width - 1), side="right") - 1
        self.firsts = firsts.astype(np.int32)
        self.rounds = int((lasts - firsts).max())


def table_of(calendar: Calendar) -> Table:
    """The calendar's table, kept on it because it lives as long."""
    try:
        return calendar._table
    except AttributeError:
        table = Table(calendar)
        object.__setattr__(calendar, "_table", table)
        return table


def _runs(chunks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Sorted numbers as half-open runs of neighbours, so that a long stretch is built at once."""
    first: int | None = None
    until = 0
    for chunk in chunks:
        if first is not None and chunk != until:
            yield first, until
            first = None
        first = chunk if first is None else first
        until = chunk + 1
    if first is not None:
        yield first, until


def _build(calendar: Calendar, begin: int, until: int) -> Instants:
    """The panes of `[begin, until)`. Each is whole, though the edge where a lookup enters it is within the stretch."""
    extents = [extent for _, extent in calendar.extents_between(begin, until)]
    if calendar.overlapping and extents:
        low, high = min(start for start, _ in extents), max(end for _, end in extents)
        extents = [extent for _, extent in calendar.extents_between(low, high)]
    rows: list[tuple[int, int, int, int]] = []
    reached = begin
    for start, end, first_end in _panes(extents) if calendar.overlapping else ((s, e, e) for s, e in extents):
        if end <= begin or start >= until:
            continue
        if start > reached:
            rows.append((reached, 0, 0, 0))
        rows.append((max(start, begin), start, end, first_end))
        reached = end
    if reached < until:
        rows.append((reached, 0, 0, 0))
    return np.array(rows, dtype=np.int64)


def _panes(extents: list[Extent]) -> Iterator[tuple[int, int, int]]:
    """(start, end, first end) of the panes that tile these periods, in order."""
    edges = sorted({edge for extent in extents for edge in extent})
    waiting = sorted(extents, reverse=True)
    running: list[int] = []
    for start, end in pairwise(edges):
        while waiting and waiting[-1][0] <= start:
            heappush(running, waiting.pop()[1])
        while running and running[0] <= start:
            heappop(running)
        if running:
            yield start, end, running[0]
