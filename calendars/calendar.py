"""What every calendar can do: a set of half-open periods, numbered by n (chronicle data model §5.1).

A calendar says four things of itself: where period n lies, which n starts last at or before an instant, how long its
periods can be at most, and what period n is called. Everything else (periods at an instant, panes, states, vectorised
assignment) follows from these here, once, for regular, fiscal, listed and changed calendars alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from calendars.durations import Duration
from calendars.errors import CalendarError
from calendars.instants import MAX_INSTANT, MIN_INSTANT, Instant
from calendars.periods import Extent, Pane, Period, PeriodState
from calendars.zones import Zone

if TYPE_CHECKING:  # NumPy loads only where arrays are assigned
    import numpy as np
    import numpy.typing as npt

    from calendars.assignment import Assignment
    from calendars.tables import Table


class Calendar(ABC):
    """Starts never decrease with n. Instants outside the years 1 to 9999 belong to no period."""

    __slots__ = ("_table",)

    _table: Table
    """The panes seen so far, for `assign`; made on first use."""

    zone: Zone
    overlapping: bool
    """Whether an instant may be in more than one period, so that the engine must keep panes."""
    longest: int
    """No period lasts longer than this many microseconds."""
    typical: int
    """About how many microseconds lie between two starts."""

    @abstractmethod
    def extent(self, n: int) -> Extent | None:
        """Where period n lies; None where there is none (an empty one does not exist)."""

    @abstractmethod
    def latest(self, instant: int) -> int:
        """The largest n that starts at or before `instant`."""

    @abstractmethod
    def label(self, n: int) -> str:
        """What period n, which exists, is called."""

    @abstractmethod
    def find(self, label: str) -> int | None:
        """The n whose label this is."""

    @abstractmethod
    def label_form(self) -> str:
        """What a label of this calendar looks like, for messages."""

    def period(self, n: int) -> Period | None:
        extent = self.extent(n)
        if extent is None or extent[1] <= MIN_INSTANT or extent[0] > MAX_INSTANT:
            return None
        return Period(n, self.label(n), *extent)

    def periods_between(self, first: int, until: int) -> Iterator[Period]:
        """Every period that intersects `[first, until)`, in the order of n."""
        for n, (start, end) in self.extents_between(first, until):
            yield Period(n, self.label(n), start, end)

    def extents_between(self, first: int, until: int) -> Iterator[tuple[int, Extent]]:
        """`periods_between` without the labels, which cost more than the rest."""
        first, until = max(first, MIN_INSTANT), min(until, MAX_INSTANT + 1)
        if first >= until:
            return
        for n in range(self.latest(first - self.longest), self.latest(until - 1) + 1):
            extent = self.extent(n)
            if extent and extent[0] < until and first < extent[1]:
                yield n, extent

    def periods_at(self, instant: int) -> tuple[Period, ...]:
        """Every period that contains `instant`, the one that ends first before the others."""
        return tuple(sorted(self.periods_between(instant, instant + 1), key=lambda p: (p.end, p.start, p.n)))

    def period_at(self, instant: int) -> Period | None:
        """The period that contains `instant`; where several do, the one that ends first (the nearly complete one)."""
        containing = self.extents_between(instant, instant + 1)
        found = min(containing, key=lambda item: (item[1][1], item[1][0], item[0]), default=None)
        return Period(found[0], self.label(found[0]), *found[1]) if found else None

    def parse_label(self, text: str) -> Period:
        n = self.find(text)
        period = None if n is None else self.period(n)
        if period is None:
            raise CalendarError(f"there is no period '{text}'", f"labels of this calendar are {self.label_form()}")
        return period

    def zone_at(self, instant: int) -> Zone:
        """The zone whose wall clock counts at `instant`; it changes only where a key's zone did."""
        return self.zone

    def add(self, instant: int, duration: Duration) -> Instant:
        """`instant` later by `duration`: months and days on the wall clock, then the rest as elapsed time."""
        return add_on_wall_clock(self.zone_at(instant), instant, duration)

    def state(self, period: Period, clock: int, grace: Duration, expire_after: Duration | None = None) -> PeriodState:
        if clock < period.end:
            return PeriodState.OPEN
        if clock < self.add(period.end, grace):
            return PeriodState.GRACE
        if expire_after is None or clock < self.add(period.end, expire_after):
            return PeriodState.CLOSED
        return PeriodState.EXPIRED

    def pane_at(self, instant: int) -> Pane | None:
        """The pane that contains `instant`; None where no period does."""
        extents = [extent for _, extent in self.extents_between(instant, instant + 1)]
        if not extents:
            return None
        latest_start = max(start for start, _ in extents)
        first_end = min(end for _, end in extents)
        if not self.overlapping:
            return Pane(latest_start, first_end)
        near = list(self.extents_between(latest_start, first_end))
        edges = {edge for _, extent in near for edge in extent}
        return Pane(max(edge for edge in edges if edge <= instant), min(edge for edge in edges if edge > instant))

    def panes_of(self, period: Period) -> tuple[Pane, ...]:
        """The panes that tile `period`, in order: cut wherever any period starts or ends."""
        if not self.overlapping:
            return (Pane(period.start, period.end),)
        near = self.extents_between(period.start, period.end)
        edges = {edge for _, extent in near for edge in extent if period.start <= edge <= period.end}
        cuts = sorted(edges | {period.start, period.end})
        return tuple(Pane(start, end) for start, end in pairwise(cuts))

    def assign(self, chronons: npt.NDArray[np.int64]) -> Assignment:
        """The pane of each chronon (its period, where periods do not overlap), by binary search."""
        from calendars.assignment import assign

        return assign(self, chronons)

    def add_all(self, instants: npt.NDArray[np.int64], duration: Duration) -> npt.NDArray[np.int64]:
        """`add` for an array, worked out once for each distinct instant."""
        from calendars.assignment import add_all

        return add_all(self, instants, duration)


def add_on_wall_clock(zone: Zone, instant: int, duration: Duration) -> Instant:
    moved = instant
    if duration.months or duration.all_days:
        moved = zone.instant_of(zone.local_of(instant).plus(duration.months, duration.all_days))
    return Instant(moved + duration.micros)


class SteppedCalendar(Calendar):
    """Periods without end in both directions, one start a step: regular and fiscal ones."""

    __slots__ = ()

    contiguous: bool
    """Whether each period ends where the next one starts."""

    @abstractmethod
    def step(self, n: int) -> Instant:
        """Where period n starts, whether it exists or not; computed from n alone."""

    def latest(self, instant: int) -> int:
        n = (instant - self.step(0)) // self.typical
        while self.step(n) > instant:
            n -= 1
        while self.step(n + 1) <= instant:
            n += 1
        return n

    def extents_between(self, first: int, until: int) -> Iterator[tuple[int, Extent]]:
        """Where each period ends at the next start, every step is worked out once."""
        if not self.contiguous:
            yield from super().extents_between(first, until)
            return
        first, until = max(first, MIN_INSTANT), min(until, MAX_INSTANT + 1)
        n = self.latest(first)
        start = self.step(n)
        while start < until and first < until:
            end = self.step(n + 1)
            if start < end:
                yield n, (start, end)
            n, start = n + 1, end
