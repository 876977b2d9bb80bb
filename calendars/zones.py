"""Zones: between an instant and what the wall clock shows.

A local time that does not exist moves later by the gap; one that exists twice is the earlier (the "compatible" rule of
the Temporal proposal, and of RFC 5545).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from importlib import import_module
from typing import Self

from calendars.civil import DAY, SECOND, LocalTime, date_of
from calendars.errors import CalendarError, suggestion
from calendars.instants import Instant, format_offset
from calendars.tzif import read_zone, zone_names

TZDATA_VERSION: str = import_module("tzdata").IANA_VERSION
"""The release of the IANA database that answers here; the machine's own is never read."""

_EXPANDED_UNTIL = 2100
"""Yearly rules are written out as transitions up to this year, because almost every chronon lies before it."""


class Zone:
    """An IANA zone. Two of the same name are the same object."""

    __slots__ = ("_instants", "_offsets", "_rule", "_years", "name")

    name: str

    @classmethod
    def named(cls, name: object) -> Zone:
        if not isinstance(name, str):
            raise CalendarError(f"{name!r} is not a zone", fix="write an IANA name, like America/New_York")
        return _zone(name)

    def __init__(self, name: str) -> None:
        """Use `Zone.named`: it checks the name and shares the object."""
        file = read_zone(name)
        instants, offsets = list(file.transitions), list(file.offsets)
        if file.rule:
            last = instants[-1] if instants else -1 << 62
            first_year = date_of(last // 86_400)[0] if instants else 1900
            for year in range(first_year, _EXPANDED_UNTIL):
                for instant, offset in file.rule.transitions(year):
                    if instant > last:
                        instants.append(instant)
                        offsets.append(offset)
        self.name = name
        self._rule = file.rule
        self._instants = [instant * SECOND for instant in instants]
        self._offsets = [offset * SECOND for offset in offsets]
        self._years: dict[int, tuple[tuple[int, int], ...]] = {}

    def __repr__(self) -> str:
        return f"Zone({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _zone, (self.name,)

    def __copy__(self) -> Self:
        return self

    def offset_at(self, instant: int) -> int:
        """Microseconds east of UTC."""
        position = bisect_right(self._instants, instant)
        offset = self._offsets[position]
        if position == len(self._instants) and self._rule:
            changes = self._later_transitions(instant - 400 * DAY, instant)
            return changes[-1][1] if changes else offset
        return offset

    def local_of(self, instant: int) -> LocalTime:
        return LocalTime(instant + self.offset_at(instant))

    def instant_of(self, local: LocalTime) -> Instant:
        """The instant at which the clock shows `local`: the earlier of two; later by the gap where there is none."""
        micros = local.micros
        low = bisect_right(self._instants, micros - DAY)
        high = bisect_right(self._instants, micros + DAY)
        if low == high and (not self._rule or high < len(self._instants)):
            return Instant(micros - self._offsets[low])
        found = self.instants_of(local)
        return found[0] if found else self._after_gap(micros)

    def instants_of(self, local: LocalTime) -> tuple[Instant, ...]:
        """Every instant at which the clock shows `local`, in order: none, one or two."""
        micros = local.micros
        offset, found, since = self.offset_at(micros - DAY), [], micros - 2 * DAY
        for instant, after in self._transitions(micros - DAY, micros + DAY):
            if since <= micros - offset < instant:
                found.append(Instant(micros - offset))
            since, offset = instant, after
        if since <= micros - offset:
            found.append(Instant(micros - offset))
        return tuple(found)

    def describe_offset(self, instant: int) -> str:
        return format_offset(self.offset_at(instant))

    def widest_gap(self) -> int:
        """The longest stretch shorter than a day that clocks here ever skipped."""
        jumps = [after - before for before, after in zip(self._offsets, self._offsets[1:], strict=False)]
        return max((jump for jump in jumps if jump < DAY), default=0)

    def widest_shift(self) -> int:
        """How far two local times can be off the elapsed time between them."""
        return max(self._offsets) - min(self._offsets)

    def _after_gap(self, micros: int) -> Instant:
        before = self.offset_at(micros - DAY)
        for instant, after in self._transitions(micros - DAY, micros + DAY):
            if instant + before <= micros < instant + after:
                break
            before = after
        return Instant(micros - before)

    def _transitions(self, after: int, until: int) -> list[tuple[int, int]]:
        """(instant, offset from then on), for instants in (after, until]."""
        low, high = bisect_right(self._instants, after), bisect_right(self._instants, until)
        found = [(self._instants[i], self._offsets[i + 1]) for i in range(low, high)]
        if high == len(self._instants) and self._rule:
            found += self._later_transitions(after, until)
        return found

    def _later_transitions(self, after: int, until: int) -> list[tuple[int, int]]:
        """Those in (after, until] that the yearly rule gives beyond the transitions written out."""
        last = self._instants[-1]
        years = range(date_of(after // DAY)[0] - 1, date_of(until // DAY)[0] + 2)
        changes = (change for year in years if year >= _EXPANDED_UNTIL - 1 for change in self._of_year(year))
        return [change for change in changes if max(after, last) < change[0] <= until]

    def _of_year(self, year: int) -> tuple[tuple[int, int], ...]:
        if year not in self._years and self._rule:
            changes = self._rule.transitions(year)
            self._years[year] = tuple((instant * SECOND, offset * SECOND) for instant, offset in changes)
        return self._years[year]


@cache
def _names() -> frozenset[str]:
    return zone_names()


@cache
def _zone(name: str) -> Zone:
    if name not in _names():
        raise CalendarError(
            f"unknown zone '{name}'",
            f"the zone database {TZDATA_VERSION} does not have it",
            suggestion(name, sorted(_names())) or "write an IANA name, like America/New_York",
        )
    return Zone(name)


UTC = Zone.named("UTC")
