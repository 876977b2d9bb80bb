"""Instants, and the ISO 8601 texts of instants and local times.

An instant is a point in time: microseconds since 1970-01-01T00:00Z. In the interfaces of this package it is a plain
int, so that a column of chronons needs no wrapping; a `LocalTime` is a class of its own and cannot be taken for one.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NewType

from calendars.civil import DAY, HOUR, MINUTE, SECOND, LocalTime, date_text, day_number, days_in_month
from calendars.errors import CalendarError

Instant = NewType("Instant", int)
Moment = LocalTime | Instant
"""What an anchor or a boundary is written as: a local time, or an instant."""

MIN_INSTANT = Instant(day_number(1, 1, 1) * DAY)
MAX_INSTANT = Instant(day_number(10_000, 1, 1) * DAY - 1)
"""The first and the last instant that calendars answer for: the years 1 to 9999, UTC."""

_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"([Zz]|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?)?"
)


def parse_moment(value: object) -> Moment:
    """A date, a local date-time, or a date-time with Z or an offset; YAML may have read it as a date already."""
    if isinstance(value, datetime):
        return _parse(value.isoformat(), value.isoformat())
    if isinstance(value, date):
        return LocalTime.of(value.year, value.month, value.day)
    if isinstance(value, str):
        return _parse(value.strip(), value)
    raise CalendarError(f"{value!r} is not a date-time", fix="write it like 2025-01-31T00:00:00")


def parse_instant(text: str) -> Instant:
    """An instant needs Z or an offset: without one nobody knows which hour is meant."""
    moment = parse_moment(text)
    if isinstance(moment, LocalTime):
        written = text.strip() if "T" in text.upper() else f"{moment}:00"
        raise CalendarError(
            f"'{text}' has no offset",
            "an instant needs Z or an offset such as -05:00",
            f"write {written}Z if it is meant in UTC",
        )
    return moment


def _parse(text: str, written: str) -> Moment:
    match = _TEXT.fullmatch(text)
    if not match:
        raise CalendarError(f"'{written}' is not an ISO 8601 date-time", fix="write it like 2025-01-31T15:00:00Z")
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if year == 0:
        raise CalendarError(f"'{written}' is outside the years 1 to 9999")
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        raise CalendarError(f"'{written}' is not a date", "the month or the day does not exist")
    local = LocalTime.of(year, month, day, _time(match, written))
    if match[8] is None:
        return local
    instant = Instant(local.micros - parse_offset(match[8]))
    if not MIN_INSTANT <= instant <= MAX_INSTANT:
        raise CalendarError(f"'{written}' is outside the years 1 to 9999")
    return instant


def _time(match: re.Match[str], written: str) -> int:
    if match[4] is None:
        return 0
    hour, minute, second = int(match[4]), int(match[5]), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise CalendarError(
            f"'{written}' is not a time",
            "hours are 00 to 23, minutes and seconds 00 to 59 (leap seconds do not exist here)",
        )
    fraction = (match[7] or "").rstrip("0")
    if len(fraction) > 6:
        raise CalendarError(f"'{written}' is finer than a microsecond", fix="give at most six digits after the second")
    return hour * HOUR + minute * MINUTE + second * SECOND + int(fraction.ljust(6, "0"))


def parse_offset(text: str) -> int:
    """Microseconds east of UTC of 'Z', '+02', '+0200', '-05:00' or '-04:56:02'."""
    if text in "Zz":
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    micros = int(digits[:2]) * HOUR + int(digits[2:4]) * MINUTE + int(digits[4:]) * SECOND
    if micros >= DAY or int(digits[2:4]) > 59 or int(digits[4:]) > 59:
        raise CalendarError(f"'{text}' is not an offset", fix="offsets are less than 24 hours, like -05:00")
    return -micros if text[0] == "-" else micros


def format_offset(micros: int) -> str:
    """'+02:00'; seconds only where local mean time had them."""
    seconds = abs(micros) // SECOND
    text = f"{'-' if micros < 0 else '+'}{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


def format_instant(instant: int) -> str:
    """'2025-09-30T15:00:00Z'; a fraction of three or six digits only where it is not zero."""
    return f"{format_local(LocalTime(instant))}Z"


def format_local(local: LocalTime) -> str:
    """Like `format_instant`, with seconds always and without a zone."""
    seconds, fraction = divmod(local.time, SECOND)
    text = f"{date_text(local.day)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        text += f".{fraction // 1000:03d}" if fraction % 1000 == 0 else f".{fraction:06d}"
    return text
