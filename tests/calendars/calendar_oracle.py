"""A slow second opinion on regular calendars, written with datetime and zoneinfo and nothing of the package.

Zones come from the same pinned tzdata, but through Python's own reader and with fold = 0 ("compatible": the earlier of
two, later by the gap).
"""

from __future__ import annotations

import calendar as gregorian
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def zone_info(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def at_micros(instant: int) -> datetime:
    return EPOCH + timedelta(microseconds=instant)


def resolve(local: datetime, zone: str) -> int:
    """With fold = 0 zoneinfo takes the offset before the transition: the earlier of two, and later by a gap."""
    return micros(local.replace(tzinfo=zone_info(zone), fold=0).astimezone(UTC))


def months_later(local: datetime, months: int) -> datetime:
    years, month = divmod(local.month - 1 + months, 12)
    year = local.year + years
    last = gregorian.monthrange(year, month + 1)[1]
    return local.replace(year=year, month=month + 1, day=min(local.day, last))


def start_of(n: int, anchor: datetime, months: int, days: int, zone: str) -> int:
    return resolve(months_later(anchor, n * months) + timedelta(days=n * days), zone)


def period_of(instant: int, anchor: datetime, months: int, days: int, zone: str) -> tuple[int, int, int]:
    """(n, start, end) of the period that holds `instant`, by walking from a bad guess."""
    elapsed = at_micros(instant).replace(tzinfo=None) - anchor
    n = elapsed.days // (31 * months + days) - 2 if elapsed.days >= 0 else elapsed.days // (28 * months + days) - 2
    while start_of(n + 1, anchor, months, days, zone) <= instant:
        n += 1
    return n, start_of(n, anchor, months, days, zone), start_of(n + 1, anchor, months, days, zone)


def year_end(year: int, weekday: int, rule: str, month: int) -> datetime:
    """The day of that weekday among the month's last seven days, or among the seven around its last day."""
    last = datetime(year, month, gregorian.monthrange(year, month)[1])
    around = range(-6, 1) if rule == "last" else range(-3, 4)
    return next(day for shift in around if (day := last + timedelta(days=shift)).weekday() == weekday)


def fiscal_parts(pattern: str, every: str, weeks: int) -> list[int]:
    """Weeks of each part of a fiscal year, laid out month by month."""
    months = [4] * 13 if pattern == "13x4" else [int(count) for count in pattern.split("-")] * 4
    months[-1] += weeks - 52
    last = 4 if pattern == "13x4" else 3
    quarters = [sum(months[first : first + 3]) for first in (0, 3, 6)] + [sum(months[-last:])]
    return {"year": [weeks], "quarter": quarters, "month": months, "week": [1] * weeks}[every]


def fiscal_year(
    name_year: int, pattern: str, every: str, weekday: int, rule: str, month: int, zone: str
) -> list[tuple[int, int]]:
    """(start, end) of each part of the fiscal year that ends with the given month of `name_year`."""
    day = year_end(name_year - 1, weekday, rule, month) + timedelta(days=1)
    until = year_end(name_year, weekday, rule, month) + timedelta(days=1)
    found = []
    for weeks in fiscal_parts(pattern, every, (until - day).days // 7):
        following = day + timedelta(weeks=weeks)
        found.append((resolve(day, zone), resolve(following, zone)))
        day = following
    return found
