"""Regular calendars: a period every so often from an anchor, in a zone, of the same or another length.

Period n is the anchor plus n times `every` in one step, so an anchor on the 31st comes back to the 31st after a short
month; nothing is ever derived from period n-1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from calendars.calendar import SteppedCalendar
from calendars.civil import DAY, LocalTime
from calendars.durations import Duration, Unit
from calendars.instants import Instant, Moment
from calendars.labels import LabelForm, form_of, name_clock, name_date, read_clock, read_date
from calendars.periods import Extent
from calendars.zones import Zone

_SHORTEST_MONTHS = (0, 28, 59, 89, 120, 150, 181, 212, 242, 273, 303, 334)
_LONGEST_MONTHS = (0, 31, 62, 92, 123, 153, 184, 215, 245, 276, 306, 337)
"""The fewest and the most days that so many months in a row can have."""


def default_anchor(every: Duration) -> Moment:
    """Local midnight of 1970-01-01, of Monday the 5th for weeks; 1970-01-01T00:00Z for elapsed time."""
    if every.unit is Unit.ELAPSED:
        return Instant(0)
    whole_weeks = every.weeks > 0 and every.unit is Unit.DAYS and every.days == 0
    return LocalTime.of(1970, 1, 5 if whole_weeks else 1)


@dataclass(frozen=True, slots=True)
class RegularCalendar(SteppedCalendar):
    every: Duration
    length: Duration
    anchor: Moment
    zone: Zone
    overlapping: bool = field(init=False, compare=False)
    longest: int = field(init=False, compare=False)
    typical: int = field(init=False, compare=False)
    contiguous: bool = field(init=False, compare=False)
    local_anchor: LocalTime = field(init=False, compare=False)
    origin: Instant = field(init=False, compare=False)
    form: LabelForm = field(init=False, compare=False)

    def __post_init__(self) -> None:
        anchor, zone = self.anchor, self.zone
        local = anchor if isinstance(anchor, LocalTime) else zone.local_of(anchor)
        known = {
            "overlapping": _may_overlap(self.every, self.length, zone),
            "longest": _most(self.length, zone),
            "typical": self.every.average,
            "contiguous": _amounts(self.every) == _amounts(self.length),
            "local_anchor": local,
            "origin": zone.instant_of(anchor) if isinstance(anchor, LocalTime) else anchor,
            "form": form_of(self.every, local),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def step(self, n: int) -> Instant:
        every = self.every
        return self._from_anchor(n * every.months, n * every.all_days, n * every.micros)

    def extent(self, n: int) -> Extent | None:
        start, end = self.step(n), self._end(n)
        if start >= end or (not self.overlapping and start >= self.step(n + 1)):
            return None
        return start, end

    def label(self, n: int) -> str:
        suffix = f"/{self.length}" if self.overlapping else ""
        if self.form is LabelForm.CLOCK:
            return name_clock(self.zone, self.step(n)) + suffix
        return name_date(self.form, self._local_start(n).day) + suffix

    def find(self, label: str) -> int | None:
        text = label.removesuffix(f"/{self.length}") if self.overlapping else label
        if self.form is LabelForm.CLOCK:
            starts = read_clock(self.zone, text)
        else:
            day = read_date(self.form, text)
            starts = () if day is None else (self.zone.instant_of(LocalTime(day * DAY + self.local_anchor.time)),)
        for start in starts:
            latest = self.latest(start)
            # A date that the zone skipped starts where the next one does, and an anchor given as an instant may be
            # the second of two equal local times: so look one step to either side.
            for n in (latest, latest - 1, latest + 1):
                if self.extent(n) and self.label(n) == label:
                    return n
        return None

    def label_form(self) -> str:
        return f"like {self.form.example}" + (f"/{self.length}" if self.overlapping else "")

    def _from_anchor(self, months: int, days: int, micros: int) -> Instant:
        """The anchor itself stays what it was given as; a local time is made of anything else."""
        if months or days:
            return Instant(self.zone.instant_of(self.local_anchor.plus(months, days)) + micros)
        return Instant(self.origin + micros)

    def _local_start(self, n: int) -> LocalTime:
        if self.every.unit is Unit.ELAPSED:
            return self.zone.local_of(self.step(n))
        return self.local_anchor.plus(n * self.every.months, n * self.every.all_days)

    def _end(self, n: int) -> Instant:
        every, length = self.every, self.length
        if self.contiguous:
            return self.step(n + 1)
        if length.unit is every.unit and every.unit is not Unit.MIXED:
            return self._from_anchor(
                n * every.months + length.months, n * every.all_days + length.all_days, n * every.micros + length.micros
            )
        if length.unit is Unit.ELAPSED:
            return Instant(self.step(n) + length.micros)
        end = self._local_start(n).plus(length.months, length.all_days)
        return Instant(self.zone.instant_of(end) + length.micros)


def _may_overlap(every: Duration, length: Duration, zone: Zone) -> bool:
    """Whether a period can reach beyond the next start. Exact for one unit; for several, by the shortest and the
    longest months and the widest change of the zone's clock, so that 'no' is always true."""
    if _amounts(length) == _amounts(every):
        return False
    if every.unit is length.unit and every.unit is not Unit.MIXED:
        return _amounts(length) > _amounts(every)
    if not length.micros and every.unit is not Unit.ELAPSED:
        return _most_days(length) > _least_days(every)  # both on the wall clock, at the same time of day
    return _most(length, zone) > _least(every, zone)


def _amounts(duration: Duration) -> tuple[int, int, int]:
    return duration.months, duration.all_days, duration.micros


def _least_days(duration: Duration) -> int:
    years, months = divmod(duration.months, 12)
    return 365 * years + _SHORTEST_MONTHS[months] + duration.all_days


def _most_days(duration: Duration) -> int:
    years, months = divmod(duration.months, 12)
    return 366 * years + _LONGEST_MONTHS[months] + duration.all_days


def _least(duration: Duration, zone: Zone) -> int:
    """The shortest that one step of an existing period can be; a day that the zone skipped has no period."""
    if duration.unit is Unit.ELAPSED:
        return duration.micros
    days = _least_days(duration)
    return days * DAY + duration.micros - (zone.widest_gap() if days == 1 else zone.widest_shift())


def _most(duration: Duration, zone: Zone) -> int:
    """The longest that a period can be. A start or an end in a gap moves, which may add a gap to the shift."""
    if duration.unit is Unit.ELAPSED:
        return duration.micros
    return _most_days(duration) * DAY + duration.micros + zone.widest_shift()
