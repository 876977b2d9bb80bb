"""What the periods of a regular calendar are called, and back.

A calendar of whole years, quarters, months or weeks from their natural start has the short names; any other that steps
on the wall clock is named by the local date of its start as the rule gives it (before a gap moves it), which is
distinct because no step is shorter than a day; one of elapsed time by its local date and time, with the offset where
the clock shows that time twice.
"""

from __future__ import annotations

import re
from enum import Enum

from calendars.civil import (
    DAY,
    MONDAY,
    LocalTime,
    date_of,
    date_text,
    day_number,
    iso_week,
    iso_week_start,
    weekday,
    year_text,
)
from calendars.durations import Duration, Unit
from calendars.errors import CalendarError
from calendars.instants import parse_offset
from calendars.zones import Zone

_YEAR = r"(-?[0-9]{4,6})"
_CLOCK = re.compile(
    rf"{_YEAR}-([0-9]{{2}})-([0-9]{{2}})T([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.([0-9]{{1,6}}))?)?"
    r"([+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"
)


class LabelForm(Enum):
    """Each with a pattern and an example."""

    YEAR = (_YEAR, "2026")
    QUARTER = (rf"{_YEAR}-Q([1-4])", "2026-Q1")
    MONTH = (rf"{_YEAR}-([0-9]{{2}})", "2026-03")
    WEEK = (rf"{_YEAR}-W([0-9]{{2}})", "2026-W05")
    DATE = (rf"{_YEAR}-([0-9]{{2}})-([0-9]{{2}})", "2026-01-31")
    CLOCK = (_CLOCK.pattern, "2026-01-31T15:00")

    def __init__(self, pattern: str, example: str) -> None:
        self.pattern = re.compile(pattern)
        self.example = example


def form_of(every: Duration, anchor: LocalTime) -> LabelForm:
    """How a calendar that steps by `every` from `anchor` names its periods."""
    if every.unit is Unit.ELAPSED:
        return LabelForm.CLOCK
    if anchor.time:
        return LabelForm.DATE
    _, month, day = date_of(anchor.day)
    match every.unit, every.months, every.all_days:
        case Unit.MONTHS, 12, _ if (month, day) == (1, 1):
            return LabelForm.YEAR
        case Unit.MONTHS, 3, _ if (month % 3, day) == (1, 1):
            return LabelForm.QUARTER
        case Unit.MONTHS, 1, _ if day == 1:
            return LabelForm.MONTH
        case Unit.DAYS, _, 7 if weekday(anchor.day) == MONDAY:
            return LabelForm.WEEK
        case _:
            return LabelForm.DATE


def name_date(form: LabelForm, day: int) -> str:
    """The label, in any form but CLOCK, of a period whose start is in the local day number `day`."""
    year, month, _ = date_of(day)
    match form:
        case LabelForm.YEAR:
            return year_text(year)
        case LabelForm.QUARTER:
            return f"{year_text(year)}-Q{(month + 2) // 3}"
        case LabelForm.MONTH:
            return f"{year_text(year)}-{month:02d}"
        case LabelForm.WEEK:
            week_year, week = iso_week(day)
            return f"{year_text(week_year)}-W{week:02d}"
        case _:
            return date_text(day)


def name_clock(zone: Zone, instant: int) -> str:
    """The local date and time of a start, with its offset where the clock shows them twice."""
    local = zone.local_of(instant)
    return f"{local}{zone.describe_offset(instant)}" if len(zone.instants_of(local)) > 1 else str(local)


def name_exactly(zone: Zone, instant: int) -> str:
    """The local date and time with the offset, always: no other instant is called the same."""
    return f"{zone.local_of(instant)}{zone.describe_offset(instant)}"


def read_date(form: LabelForm, text: str) -> int | None:
    """The local day number that a label of this form names."""
    match = form.pattern.fullmatch(text)
    if not match:
        return None
    year = int(match[1])
    match form:
        case LabelForm.YEAR:
            return day_number(year, 1, 1)
        case LabelForm.QUARTER:
            return day_number(year, 3 * int(match[2]) - 2, 1)
        case LabelForm.MONTH:
            return day_number(year, int(match[2]), 1) if 1 <= int(match[2]) <= 12 else None
        case LabelForm.WEEK:
            return iso_week_start(year, int(match[2]))
        case _:
            month, day = int(match[2]), int(match[3])
            return day_number(year, month, day) if 1 <= month <= 12 else None


def read_clock(zone: Zone, text: str) -> tuple[int, ...]:
    """The instants that a date and time, with or without an offset, may name in the zone."""
    match = _CLOCK.fullmatch(text)
    if not match:
        return ()
    year, month, day, hour, minute, second = (int(match[i] or 0) for i in range(1, 7))
    if not 1 <= month <= 12:
        return ()
    time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + int((match[7] or "").ljust(6, "0"))
    local = LocalTime(day_number(year, month, day) * DAY + time)
    if match[8] is None:
        return zone.instants_of(local)
    try:
        return (local.micros - parse_offset(match[8]),)
    except CalendarError:
        return ()
