"""Fiscal calendars: years of whole weeks, 52 or 53, cut into quarters and months by a pattern (4-4-5 and its kin).

A year ends on a weekday that is the last in, or the nearest to the end of, a month. The 53rd week goes to the year's
last month. With 13x4 the year has thirteen months and its quarters have 3, 3, 3 and 4 of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Literal

from calendars.calendar import SteppedCalendar
from calendars.civil import DAY, LocalTime, date_of, day_number, days_in_month, weekday, year_text
from calendars.instants import Instant
from calendars.periods import Extent
from calendars.zones import Zone

_FIRST_YEAR = 1970
"""Period 0 is the first one of the fiscal year of this name."""

_LABEL = re.compile(r"FY(-?[0-9]{4,6})(?:-([QMW])([0-9]{1,2}))?")


class Pattern(StrEnum):
    """Weeks of the months of a quarter; 13x4 has thirteen months of four weeks."""

    P445 = "4-4-5"
    P454 = "4-5-4"
    P544 = "5-4-4"
    P13X4 = "13x4"

    @property
    def months(self) -> tuple[int, ...]:
        """Weeks of each month of a year of 52 weeks."""
        return (4,) * 13 if self is Pattern.P13X4 else tuple(int(weeks) for weeks in self.value.split("-")) * 4

    @property
    def quarters(self) -> tuple[int, ...]:
        return (12, 12, 12, 16) if self is Pattern.P13X4 else (13, 13, 13, 13)


class FiscalUnit(StrEnum):
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"

    @property
    def letter(self) -> str:
        return {"year": "", "quarter": "Q", "month": "M", "week": "W"}[self.value]


@dataclass(frozen=True, slots=True)
class YearEnd:
    """The last day of a fiscal year; weekday 0 is Monday."""

    weekday: int
    rule: Literal["nearest", "last"]
    month: int

    def day(self, year: int) -> int:
        """The day number of the year end that belongs to the ending month of calendar year `year`."""
        last = day_number(year, self.month, days_in_month(year, self.month))
        back = (weekday(last) - self.weekday) % 7
        return last - back + (7 if self.rule == "nearest" and back > 3 else 0)


@dataclass(frozen=True, slots=True)
class FiscalRule:
    pattern: Pattern
    year_end: YearEnd
    every: FiscalUnit
    named: Literal["start", "end"]

    def year_start(self, name: int) -> int:
        """The day number on which the fiscal year called `name` starts."""
        return self.year_end.day(self._ending(name) - 1) + 1

    def year_name(self, day: int) -> int:
        """The name of the fiscal year that holds a day number."""
        name = date_of(day)[0] - 1
        while self.year_start(name + 1) <= day:
            name += 1
        return name

    def _ending(self, name: int) -> int:
        """The calendar year of the ending month of the fiscal year called `name`. Named for its start it bears the year
        of the month after the previous ending month: the year before, unless it ends in December."""
        return name if self.named == "end" or self.year_end.month == 12 else name + 1

    @property
    def weeks(self) -> tuple[int, ...]:
        """Weeks of each part of a year of 52 weeks; the last part takes the 53rd."""
        match self.every:
            case FiscalUnit.YEAR:
                return (52,)
            case FiscalUnit.QUARTER:
                return self.pattern.quarters
            case FiscalUnit.MONTH:
                return self.pattern.months
            case FiscalUnit.WEEK:
                return (1,) * 52


@dataclass(frozen=True, slots=True)
class FiscalCalendar(SteppedCalendar):
    rule: FiscalRule
    zone: Zone
    overlapping: bool = field(init=False, compare=False, default=False)
    longest: int = field(init=False, compare=False)
    typical: int = field(init=False, compare=False)
    first_days: tuple[int, ...] = field(init=False, compare=False)
    """Days from the year's start to the start of each of its parts."""

    contiguous = True

    def __post_init__(self) -> None:
        weeks = self.rule.weeks
        longest = (max(weeks) + 1) * 7 * DAY + self.zone.widest_shift()
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "typical", 146_097 * DAY // (400 * len(weeks)) if len(weeks) < 52 else 7 * DAY)
        object.__setattr__(self, "first_days", tuple(7 * before for before in accumulate((0, *weeks[:-1]))))

    def step(self, n: int) -> Instant:
        return self.zone.instant_of(LocalTime(self._first_day(n) * DAY))

    def extent(self, n: int) -> Extent | None:
        start, end = self.step(n), self.step(n + 1)
        return (start, end) if start < end else None

    def label(self, n: int) -> str:
        day = self._first_day(n)
        name = self.rule.year_name(day)
        part = (day - self.rule.year_start(name)) // 7 + 1 if self._is_weekly else n % len(self.first_days) + 1
        return _name(self.rule.every, name, part)

    def find(self, label: str) -> int | None:
        match = _LABEL.fullmatch(label)
        if not match or (match[2] or "") != self.rule.every.letter:
            return None
        name, part = int(match[1]), int(match[3] or 1)
        if self._is_weekly:
            n = (self.rule.year_start(name) - self.rule.year_start(_FIRST_YEAR)) // 7 + part - 1
        else:
            n = (name - _FIRST_YEAR) * len(self.first_days) + part - 1
        return n if self.label(n) == label else None

    def label_form(self) -> str:
        return f"like {_name(self.rule.every, 2023, 1)}"

    @property
    def _is_weekly(self) -> bool:
        return self.rule.every is FiscalUnit.WEEK

    def _first_day(self, n: int) -> int:
        if self._is_weekly:
            return self.rule.year_start(_FIRST_YEAR) + 7 * n
        years, part = divmod(n, len(self.first_days))
        return self.rule.year_start(_FIRST_YEAR + years) + self.first_days[part]


def _name(every: FiscalUnit, year: int, part: int) -> str:
    match every:
        case FiscalUnit.YEAR:
            return f"FY{year_text(year)}"
        case FiscalUnit.QUARTER:
            return f"FY{year_text(year)}-Q{part}"
        case FiscalUnit.MONTH | FiscalUnit.WEEK:
            return f"FY{year_text(year)}-{every.letter}{part:02d}"
