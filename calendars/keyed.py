"""Calendars keyed by a relation's columns: every key has its own anchor, zone, or both.

A template is a calendar without its zone (and perhaps without its anchor). A `KeyedCalendar` fills it in from the
versions of one key; the result is cached, and keys that share an anchor and a zone share one calendar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, assert_never

from calendars.calendar import Calendar
from calendars.durations import Duration
from calendars.errors import CalendarError
from calendars.fiscal import FiscalCalendar, FiscalRule
from calendars.instants import Instant, Moment, parse_moment
from calendars.listed import ListedCalendar, between, named, resolve
from calendars.regular import RegularCalendar
from calendars.timeline import Grid, Regime, timeline
from calendars.zones import UTC, Zone

if TYPE_CHECKING:  # NumPy loads only where arrays are assigned
    import numpy as np
    import numpy.typing as npt

    from calendars.assignment import Assignment

_KEYS_KEPT = 65_536
"""Calendars of recent keys that stay in memory, a few kilobytes each with the panes seen."""


@dataclass(frozen=True, slots=True)
class RegularTemplate:
    every: Duration
    length: Duration
    anchor: Moment


@dataclass(frozen=True, slots=True)
class BoundariesTemplate:
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class NamedTemplate:
    periods: tuple[tuple[str, Moment, Moment], ...]


Template = RegularTemplate | FiscalRule | BoundariesTemplate | NamedTemplate

AnchorValue = int | date | str | None
"""An instant (timestamp column), a date, or a local date-time as text; None is null."""

Version = tuple[int, AnchorValue, str | None]
"""`(valid_from, anchor, zone)`: what a key's row says from an instant on."""


def fill_in(template: Template, zone: Zone, anchor: Moment | None = None) -> Grid:
    """The calendar that a template is in a zone, with another anchor if one is given."""
    match template:
        case RegularTemplate(every, length, default):
            return RegularCalendar(every, length, default if anchor is None else anchor, zone)
        case FiscalRule():
            return FiscalCalendar(template, zone)
        case BoundariesTemplate(moments):
            reached: list[Instant] = []
            for moment in moments:  # a gap may put a local boundary after the next one; that period is then empty
                instant = resolve(moment, zone)
                reached.append(max(instant, reached[-1]) if reached else instant)
            return between(reached, zone)
        case NamedTemplate(periods):
            return named(((name, resolve(start, zone), resolve(end, zone)) for name, start, end in periods), zone)
        case _:
            assert_never(template)


@dataclass(frozen=True, slots=True)
class KeyedCalendar:
    """One calendar for each key of a relation. `anchor_column` and `zone_column` are 'relation.column' or None."""

    template: Template
    anchor_column: str | None
    zone_column: str | None
    zone: Zone = UTC
    """The zone of every key, where it is not a column."""
    _at: Callable[[tuple[Version, ...]], Calendar] = field(init=False, compare=False, repr=False)
    _grid: Callable[[AnchorValue, str | None], Grid | None] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_at", lru_cache(_KEYS_KEPT)(self._build))
        object.__setattr__(self, "_grid", lru_cache(_KEYS_KEPT)(self._fill_in))

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return KeyedCalendar, (self.template, self.anchor_column, self.zone_column, self.zone)

    @property
    def overlapping(self) -> bool:
        """Whether periods of one key may overlap."""
        return fill_in(self.template, self.zone).overlapping

    @property
    def longest(self) -> int:
        """About how long a period of any key lasts at most, microseconds; zones move it by hours."""
        return fill_in(self.template, self.zone).longest

    def at(self, versions: tuple[Version, ...]) -> Calendar:
        """The calendar of the key with these versions, in order of their valid_from, at least one.

        A null in a keyed column is a time without periods (the running one still ends where it would have).
        CalendarError where an anchor or a zone is not one.
        """
        return self._at(versions)

    @staticmethod
    def assign_keyed(
        index: npt.NDArray[np.integer], calendars: Sequence[Calendar], chronons: npt.NDArray[np.int64]
    ) -> Assignment:
        """The pane of each chronon in the calendar `calendars[index]` of its row."""
        from calendars.assignment import assign_keyed

        return assign_keyed(index, calendars, chronons)

    def _build(self, versions: tuple[Version, ...]) -> Calendar:
        regimes: list[Regime] = []
        for since, anchor, zone in versions:
            grid = self._grid(anchor if self.anchor_column else None, zone if self.zone_column else None)
            if not regimes or regimes[-1].grid != grid:
                regimes.append(Regime(since, grid))
        if isinstance(self.template, NamedTemplate):
            return _named_over(self.template, regimes)
        return timeline(regimes)

    def _fill_in(self, anchor: AnchorValue, zone: str | None) -> Grid | None:
        if (self.anchor_column and anchor is None) or (self.zone_column and zone is None):
            return None
        chosen = self.zone if zone is None else Zone.named(zone)
        return fill_in(self.template, chosen, None if anchor is None else anchor_moment(anchor))


def anchor_moment(value: int | date | str) -> Moment:
    """What a value of an anchor column means: a timestamp is an instant, a date its local midnight."""
    if isinstance(value, bool):
        raise CalendarError(f"{value!r} is not an anchor", fix="an anchor column is a timestamp, a date or a string")
    return Instant(value) if isinstance(value, int) else parse_moment(value)


def _named_over(template: NamedTemplate, regimes: Sequence[Regime]) -> ListedCalendar:
    """Each named period once: in the first zone in which it starts before the next version takes over."""
    zones = [(regime.since, regime.grid.zone) for regime in regimes if regime.grid]
    if not zones:
        return ListedCalendar((), (), UTC)

    def lies(start: Moment, end: Moment) -> tuple[Instant, Instant]:
        for (_, zone), (until, _) in pairwise(zones):
            if resolve(start, zone) < until:
                return resolve(start, zone), resolve(end, zone)
        return resolve(start, zones[-1][1]), resolve(end, zones[-1][1])

    return named(((name, *lies(start, end)) for name, start, end in template.periods), zones[-1][1])
