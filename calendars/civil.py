"""Dates of the proleptic Gregorian calendar and local times, as integers.

Python's datetime ends at the years 1 and 9999, but a period that holds one of their instants may start before or end
after them. So dates are day numbers (0 is 1970-01-01) and local times are microseconds, without a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

AVERAGE_MONTH = 146_097 * DAY // 4_800
"""400 Gregorian years have 146,097 days; the division is exact."""

MONDAY = 0
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and is_leap(year) else _DAYS_IN_MONTH[month - 1]


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. The year is taken to begin in March, so that the leap day is its last."""
    if month <= 2:
        year -= 1
        month += 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 719_469


def date_of(number: int) -> tuple[int, int, int]:
    """(year, month, day) of a day number; the inverse of `day_number`."""
    number += 719_468
    era, of_era = divmod(number, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    year = era * 400 + year_of_era
    return (year, month + 3, day) if month < 10 else (year + 1, month - 9, day)


def weekday(number: int) -> int:
    """0 is Monday, as in ISO 8601 and in Python."""
    return (number + 3) % 7


def iso_week(number: int) -> tuple[int, int]:
    """(week-year, week) of ISO 8601: a week belongs to the year of its Thursday."""
    thursday = number - weekday(number) + 3
    year = date_of(thursday)[0]
    return year, (thursday - day_number(year, 1, 1)) // 7 + 1


def iso_week_start(year: int, week: int) -> int:
    """The day number of the Monday of a week of ISO 8601; 4 January is always in week 1."""
    fourth = day_number(year, 1, 4)
    return fourth - weekday(fourth) + 7 * (week - 1)


def year_text(year: int) -> str:
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def date_text(number: int) -> str:
    year, month, day = date_of(number)
    return f"{year_text(year)}-{month:02d}-{day:02d}"


@dataclass(frozen=True, slots=True, order=True)
class LocalTime:
    """A date and a time as a wall clock shows them, in no zone: microseconds since 1970-01-01T00:00 on that clock.

    It is not an instant: a zone may have it never, once or twice.
    """

    micros: int

    @classmethod
    def of(cls, year: int, month: int, day: int, time: int = 0) -> LocalTime:
        return cls(day_number(year, month, day) * DAY + time)

    @property
    def day(self) -> int:
        return self.micros // DAY

    @property
    def time(self) -> int:
        """Microseconds since the local midnight."""
        return self.micros % DAY

    def plus(self, months: int = 0, days: int = 0) -> LocalTime:
        """Months first, the day clamped to the month's end, then days."""
        number, time = divmod(self.micros, DAY)
        if months:
            year, month, day = date_of(number)
            year, month0 = divmod(year * 12 + month - 1 + months, 12)
            number = day_number(year, month0 + 1, min(day, days_in_month(year, month0 + 1)))
        return LocalTime((number + days) * DAY + time)

    def time_text(self) -> str:
        """hh:mm, with seconds and a fraction only where they are not zero."""
        seconds, fraction = divmod(self.time, SECOND)
        minutes, second = divmod(seconds, 60)
        text = f"{minutes // 60:02d}:{minutes % 60:02d}"
        if second or fraction:
            text += f":{second:02d}"
        if fraction:
            text += f".{fraction:06d}".rstrip("0")
        return text

    def __str__(self) -> str:
        return f"{date_text(self.day)}T{self.time_text()}"
