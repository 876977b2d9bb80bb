"""The calendar of one key whose zone or anchor changed: each version's own calendar for its stretch of time.

The running period ends where it would have ended and the next starts exactly there, under the version in force at that
moment. What is left until the new calendar's next start is a period of its own, a bridge, unless it is shorter than
half of the period it is cut from: then it is merged into the one after it. So where a period lies, and what it is
called, depends only on the versions in force at or before its start; a later change never moves it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from calendars.calendar import Calendar, add_on_wall_clock
from calendars.civil import date_text
from calendars.fiscal import FiscalCalendar
from calendars.instants import Instant
from calendars.labels import LabelForm, name_clock, name_exactly, read_clock
from calendars.listed import ListedCalendar
from calendars.periods import Extent
from calendars.regular import RegularCalendar
from calendars.zones import Zone

Grid = RegularCalendar | FiscalCalendar | ListedCalendar
"""The calendar that one version of a key would have on its own."""


@dataclass(frozen=True, slots=True)
class Regime:
    """From `since` on the key has this calendar; None where its anchor or zone is null."""

    since: int
    grid: Grid | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Periods `first` to `last` of a grid (None: without end); timeline n is the grid's plus `shift`."""

    grid: Grid
    first: int | None
    last: int | None
    shift: int = 0

    def extent(self, n: int) -> Extent | None:
        n -= self.shift
        if (self.first is not None and n < self.first) or (self.last is not None and n > self.last):
            return None
        return self.grid.extent(n)

    def latest(self, instant: int) -> int:
        n = self.grid.latest(instant)
        return self.shift + (n if self.last is None else min(n, self.last))

    def label(self, n: int) -> str:
        return self.grid.label(n - self.shift)

    def find(self, label: str) -> int | None:
        n = self.grid.find(label)
        return n + self.shift if n is not None and self.extent(n + self.shift) else None


@dataclass(frozen=True, slots=True)
class Bridge:
    """The one period between a change and the new grid's start."""

    grid: Grid
    lies: Extent
    n: int = 0

    def extent(self, n: int) -> Extent | None:
        return self.lies if n == self.n and self.lies[0] < self.lies[1] else None

    def latest(self, instant: int) -> int:
        return self.n

    def label(self, n: int) -> str:
        grid, start = self.grid, self.lies[0]
        if not isinstance(grid, RegularCalendar):
            return date_text(grid.zone.local_of(start).day)
        clock = grid.form is LabelForm.CLOCK
        text = name_clock(grid.zone, start) if clock else date_text(grid.zone.local_of(start).day)
        return f"{text}/{grid.length}" if grid.overlapping else text

    def find(self, label: str) -> int | None:
        return self.n if label == self.label(self.n) else None


Piece = Stretch | Bridge


@dataclass(frozen=True, slots=True)
class Timeline(Calendar):
    """Pieces in order of time, at least one; n counts on through them."""

    pieces: tuple[Piece, ...]
    zone: Zone = field(init=False, compare=False)
    overlapping: bool = field(init=False, compare=False)
    longest: int = field(init=False, compare=False)
    typical: int = field(init=False, compare=False)
    first_ns: tuple[int, ...] = field(init=False, compare=False)
    """Of the pieces after the first."""
    begins: tuple[int, ...] = field(init=False, compare=False)
    """Where the pieces after the first begin."""

    def __post_init__(self) -> None:
        grids = [piece.grid for piece in self.pieces]
        bridges = [piece.lies for piece in self.pieces if isinstance(piece, Bridge)]
        later = [_first_n(piece) for piece in self.pieces[1:]]
        known = {
            "zone": grids[-1].zone,
            "overlapping": any(grid.overlapping for grid in grids),
            "longest": max([grid.longest for grid in grids] + [end - start for start, end in bridges]),
            "typical": min(grid.typical for grid in grids),
            "first_ns": tuple(later),
            "begins": tuple(_begin(piece) for piece in self.pieces[1:]),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def extent(self, n: int) -> Extent | None:
        return self.pieces[self._piece(n)].extent(n)

    def latest(self, instant: int) -> int:
        return self.pieces[bisect_right(self.begins, instant)].latest(instant)

    def label(self, n: int) -> str:
        """The piece's own; where an earlier piece has used it (zones half a day apart), the start with its offset."""
        index = self._piece(n)
        piece = self.pieces[index]
        label = piece.label(n)
        extent = piece.extent(n)
        if extent and any(earlier.find(label) is not None for earlier in self.pieces[:index]):
            return name_exactly(piece.grid.zone, extent[0])
        return label

    def find(self, label: str) -> int | None:
        candidates = [piece.find(label) for piece in self.pieces]
        candidates += [self.latest(start) for start in read_clock(self.zone, label)]
        return next((n for n in candidates if n is not None and self.extent(n) and self.label(n) == label), None)

    def label_form(self) -> str:
        return self.pieces[-1].grid.label_form()

    def zone_at(self, instant: int) -> Zone:
        """Of the period that ends at `instant`, or else contains it: grace and expiry follow the period's own clock."""
        return self.pieces[bisect_right(self.begins, instant - 1)].grid.zone

    def _piece(self, n: int) -> int:
        return bisect_right(self.first_ns, n)


def _first_n(piece: Piece) -> int:
    return piece.n if isinstance(piece, Bridge) else piece.shift + (piece.first or 0)


def _begin(piece: Piece) -> int:
    if isinstance(piece, Bridge):
        return piece.lies[0]
    begin = piece.grid.step(piece.first or 0)
    assert begin is not None, "a stretch begins at a start of its grid"
    return begin


def timeline(regimes: Sequence[Regime]) -> Calendar:
    """The calendar of a key with these regimes, in order of `since`; the first reaches back before it."""
    pieces = tuple(_numbered(_lay(regimes)))
    match pieces:
        case ():
            zone = next((regime.grid.zone for regime in regimes if regime.grid), Zone.named("UTC"))
            return ListedCalendar((), (), zone)
        case (Stretch(grid, None, None),):
            return grid
        case _:
            return Timeline(pieces)


def _numbered(pieces: Iterator[Piece]) -> Iterator[Piece]:
    upcoming: int | None = None
    for piece in pieces:
        if upcoming is None:
            upcoming = piece.n if isinstance(piece, Bridge) else piece.first or 0
        if isinstance(piece, Bridge):
            yield replace(piece, n=upcoming)
            upcoming += 1
            continue
        shift = upcoming - piece.first if piece.first is not None else 0
        yield replace(piece, shift=shift)
        upcoming = shift + piece.last + 1 if piece.last is not None else upcoming


def _lay(regimes: Sequence[Regime]) -> Iterator[Piece]:
    """Walks from change to change: at `boundary` (None: since ever) a period starts under the regime `index`."""
    index, boundary = 0, None
    while True:
        grid = regimes[index].grid
        if grid is None:
            revived = _revive(regimes, index, boundary)
            if revived is None:
                return
            index, boundary = revived
            continue
        first = None
        if boundary is not None:
            bridge, first, starts = _enter(grid, boundary)
            if bridge:
                yield bridge
            if first is None:
                return
            if bridge:
                index = _in_force(regimes, starts)  # what came and went within the bridge changes nothing
                if regimes[index].grid != grid:
                    boundary = starts
                    continue
        change = _change(regimes, index, grid)
        if change is None:
            yield Stretch(grid, first, None)
            return
        last, boundary, index = change
        if first is None or first <= last:
            yield Stretch(grid, first, last)


def _in_force(regimes: Sequence[Regime], instant: int) -> int:
    return max(bisect_right(regimes, instant, key=lambda regime: regime.since) - 1, 0)


def _first_step_from(grid: Grid, instant: int) -> tuple[int, Instant] | None:
    """The first n that starts at or after `instant`, and where; None where a list has ended."""
    n = grid.latest(instant - 1) + 1
    start = grid.step(n)
    return (n, start) if start is not None and start >= instant else None


def _change(regimes: Sequence[Regime], index: int, grid: Grid) -> tuple[int, Instant, int] | None:
    """The last n of `grid` before another one takes over, where that happens, and the regime in force there."""
    for later in regimes[index + 1 :]:
        found = _first_step_from(grid, later.since)
        if found is None:
            return None
        n, boundary = found
        following = _in_force(regimes, boundary)
        if regimes[following].grid != grid:
            return n - 1, boundary, following
    return None


def _revive(regimes: Sequence[Regime], index: int, boundary: int | None) -> tuple[int, int] | None:
    """The next regime with a calendar: it starts with the period that holds its first instant, but not before the
    last period has ended."""
    for later in range(index + 1, len(regimes)):
        grid, since = regimes[later].grid, regimes[later].since
        if grid is not None:
            start = grid.step(grid.latest(since))
            running = since if start is None else start
            return later, running if boundary is None else max(running, boundary)
    return None


def _enter(grid: Grid, boundary: int) -> tuple[Bridge | None, int | None, int]:
    """The bridge from `boundary` to the grid, if it needs one, and the n it leads to with that one's start."""
    found = _first_step_from(grid, boundary)
    if found is None:
        return None, None, boundary
    n, start = found
    before, after = grid.step(n - 1), grid.step(n + 1)
    if start == boundary or before is None:
        return None, n, start
    if 2 * (start - boundary) < start - before and after is not None:
        n, start = n + 1, after
    end = start
    if isinstance(grid, RegularCalendar) and not grid.contiguous:
        end = add_on_wall_clock(grid.zone, boundary, grid.length)
        end = end if grid.overlapping else min(end, start)
    return Bridge(grid, (Instant(boundary), end)), n, start
