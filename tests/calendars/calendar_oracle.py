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
