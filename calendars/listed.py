"""Irregular calendars: consecutive periods between boundaries, or any set of named intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from calendars.calendar import Calendar
from calendars.civil import LocalTime, date_text
from calendars.instants import Instant, Moment
from calendars.labels import name_clock
from calendars.periods import Extent
from calendars.zones import Zone


def resolve(moment: Moment, zone: Zone) -> Instant:
    return zone.instant_of(moment) if isinstance(moment, LocalTime) else moment


@dataclass(frozen=True, slots=True)
class ListedCalendar(Calendar):
    """Period n is the n-th of `extents`, which are in order of their starts."""

    extents: tuple[Extent, ...]
    labels: tuple[str, ...]
    zone: Zone
    contiguous: bool = False
    overlapping: bool = field(init=False, compare=False)
    longest: int = field(init=False, compare=False)
    typical: int = field(init=False, compare=False)
    starts: tuple[Instant, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        existing = [extent for extent in self.extents if extent[0] < extent[1]]
        reach = existing[-1][1] - existing[0][0] if existing else 1
        object.__setattr__(self, "overlapping", _any_overlap(existing))
        object.__setattr__(self, "longest", max((end - start for start, end in existing), default=1))
        object.__setattr__(self, "typical", max(reach // max(len(existing), 1), 1))
        object.__setattr__(self, "starts", tuple(start for start, _ in self.extents))

    def extent(self, n: int) -> Extent | None:
        if not 0 <= n < len(self.extents):
            return None
        start, end = self.extents[n]
        return (start, end) if start < end else None

    def latest(self, instant: int) -> int:
        return bisect_right(self.starts, instant) - 1

    def label(self, n: int) -> str:
        return self.labels[n]

    def find(self, label: str) -> int | None:
        return self.labels.index(label) if label in self.labels else None

    def label_form(self) -> str:
        shown = ", ".join(self.labels[:5])
        return f"{shown}, ... ({len(self.labels)} in all)" if len(self.labels) > 5 else shown

    def step(self, n: int) -> Instant | None:
        """Where period n starts; the last boundary counts, though no period starts there."""
        if 0 <= n < len(self.extents):
            return self.starts[n]
        return self.extents[-1][1] if self.extents and n == len(self.extents) else None


def between(boundaries: Sequence[Instant], zone: Zone) -> ListedCalendar:
    """A period from each boundary to the next, named by its local date, and the time where a date has several."""
    extents = tuple(pairwise(boundaries))
    dates = [date_text(zone.local_of(start).day) for start, _ in extents]
    times = Counter(dates)
    labels = tuple(
        date if times[date] == 1 else name_clock(zone, start) for date, (start, _) in zip(dates, extents, strict=True)
    )
    return ListedCalendar(extents, labels, zone, contiguous=True)


def named(periods: Iterable[tuple[str, Instant, Instant]], zone: Zone) -> ListedCalendar:
    """Any intervals, numbered in the order of their starts."""
    ordered = sorted(periods, key=lambda period: (period[1], period[2], period[0]))
    return ListedCalendar(tuple((start, end) for _, start, end in ordered), tuple(name for name, _, _ in ordered), zone)


def _any_overlap(extents: Iterable[Extent]) -> bool:
    reached: int | None = None
    for start, end in extents:
        if reached is not None and start < reached:
            return True
        reached = end if reached is None else max(reached, end)
    return False
