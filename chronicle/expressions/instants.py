"""`extract` and `date_trunc` in Python: on the wall clock of a zone, by the pinned zone database of the calendars."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache

from calendars import LocalTime, Zone
from calendars.civil import DAY, HOUR, MINUTE, SECOND, date_of, day_number, iso_week, weekday
from chronicle.expressions.functions import Part

_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = day_number(1880, 1, 1), day_number(2100, 1, 1)
_CLOCK = {Part.HOUR: HOUR, Part.MINUTE: MINUTE, Part.SECOND: SECOND}


def extract_instant(part: Part, instant: int, zone: Zone) -> int:
    number, time = divmod(zone.local_of(instant).micros, DAY)
    match part:
        case Part.HOUR:
            return time // HOUR
        case Part.MINUTE:
            return time // MINUTE % 60
        case Part.SECOND:
            return time // SECOND % 60
        case _:
            return _extract_day(part, number)


def extract_date(part: Part, day: date) -> int:
    return _extract_day(part, (day - _EPOCH).days)


def _extract_day(part: Part, number: int) -> int:
    year, month, day = date_of(number)
    match part:
        case Part.YEAR:
            return year
        case Part.QUARTER:
            return (month + 2) // 3
        case Part.MONTH:
            return month
        case Part.WEEK:
            return iso_week(number)[1]
        case Part.ISOYEAR:
            return iso_week(number)[0]
        case Part.DOW:
            return (weekday(number) + 1) % 7
        case Part.ISODOW:
            return weekday(number) + 1
        case Part.DOY:
            return number - day_number(year, 1, 1) + 1
        case _:
            return day


def truncate_instant(unit: Part, instant: int, zone: Zone) -> int:
    """Days and longer start at a local midnight (the earlier of two, or after the gap), hours and shorter at a tick."""
    local = zone.local_of(instant).micros
    if unit in _CLOCK:
        return instant - local % _CLOCK[unit]
    return zone.instant_of(LocalTime(_first_day(unit, local // DAY) * DAY))


def truncate_date(unit: Part, day: date) -> date:
    return _EPOCH + timedelta(days=_first_day(unit, (day - _EPOCH).days))


def _first_day(unit: Part, number: int) -> int:
    year, month, _ = date_of(number)
    match unit:
        case Part.YEAR:
            return day_number(year, 1, 1)
        case Part.QUARTER:
            return day_number(year, (month - 1) // 3 * 3 + 1, 1)
        case Part.MONTH:
            return day_number(year, month, 1)
        case Part.WEEK:
            return number - weekday(number)
        case _:
            return number


@cache
def repeated_midnights(name: str) -> tuple[tuple[int, int], ...]:
    """The local midnights that a zone has twice, up to the year 2100, and the earlier instant of each."""
    zone = Zone.named(name)
    found = []
    for midnight in range(_FIRST_DAY * DAY, _LAST_DAY * DAY, DAY):
        # Offsets only differ around a midnight where the clocks change; asking for both is far cheaper.
        if zone.offset_at(midnight - DAY) > zone.offset_at(midnight + DAY):
            instants = zone.instants_of(LocalTime(midnight))
            if len(instants) == 2:
                found.append((midnight, int(instants[0])))
    return tuple(found)
