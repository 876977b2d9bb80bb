"""Reads a zone of the pinned tzdata package: RFC 8536 files and the POSIX rule in their footer.

zoneinfo would fall back to the machine's database and ends where datetime ends; this reads only the package and is
plain integers (seconds), so that the years 1 and 9999 and what lies just beyond them need no special case.
"""

from __future__ import annotations

import pkgutil
import re
import struct
from dataclasses import dataclass

from calendars.civil import day_number, days_in_month, is_leap, weekday

_HEADER = struct.Struct(">4sc15x6l")
_NAME = r"(?:<[A-Za-z0-9+-]+>|[A-Za-z]+)"
_CLOCK = r"([+-]?[0-9]{1,3}(?::[0-9]{2}){0,2})"
_DATE = r"(M[0-9]{1,2}\.[1-5]\.[0-6]|J?[0-9]{1,3})"
_RULE = re.compile(rf"{_NAME}{_CLOCK}(?:{_NAME}{_CLOCK}?,{_DATE}(?:/{_CLOCK})?,{_DATE}(?:/{_CLOCK})?)?")


@dataclass(frozen=True, slots=True)
class YearlyChange:
    """'M3.2.0/2': the date of a change in any year, and the seconds after its local midnight."""

    date: str
    seconds: int

    def local_seconds(self, year: int) -> int:
        return self._day(year) * 86_400 + self.seconds

    def _day(self, year: int) -> int:
        if self.date[0] == "M":
            month, week, sunday_based = (int(part) for part in self.date[1:].split("."))
            first = day_number(year, month, 1)
            day = 1 + (sunday_based - 1 - weekday(first)) % 7 + 7 * (week - 1)
            return first - 1 + (day if day <= days_in_month(year, month) else day - 7)
        if self.date[0] == "J":
            number = int(self.date[1:])
            return day_number(year, 1, 1) + number - 1 + (1 if is_leap(year) and number >= 60 else 0)
        return day_number(year, 1, 1) + int(self.date)


@dataclass(frozen=True, slots=True)
class YearlyRule:
    """What holds after the last recorded transition: two changes a year, for ever."""

    standard: int
    summer: int
    begins: YearlyChange
    ends: YearlyChange

    def transitions(self, year: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """(instant, offset from then on) of the year's two changes, in order."""
        begin = (self.begins.local_seconds(year) - self.standard, self.summer)
        end = (self.ends.local_seconds(year) - self.summer, self.standard)
        return (begin, end) if begin[0] <= end[0] else (end, begin)


@dataclass(frozen=True, slots=True)
class ZoneFile:
    """`offsets[0]` holds before the first transition, `offsets[i + 1]` from transition i on."""

    transitions: tuple[int, ...]
    offsets: tuple[int, ...]
    rule: YearlyRule | None


def zone_names() -> frozenset[str]:
    return frozenset(_resource("zones").decode().split())


def read_zone(name: str) -> ZoneFile:
    """The zone `name`, which must be one of `zone_names`."""
    data = _resource(f"zoneinfo/{name}")
    _, version, *first = _HEADER.unpack_from(data)
    if version < b"2":
        raise ValueError(f"the zone file of {name} has version 1; tzdata has not shipped those since 2020")
    is_ut, is_std, leaps, times, types, chars = first
    second = _HEADER.size + times * 5 + types * 6 + chars + leaps * 8 + is_std + is_ut
    _, _, is_ut, is_std, leaps, times, types, chars = _HEADER.unpack_from(data, second)
    at = second + _HEADER.size
    transitions = struct.unpack_from(f">{times}q", data, at)
    kinds = data[at + 8 * times : at + 9 * times]
    at += 9 * times
    offsets = [struct.unpack_from(">lBB", data, at + 6 * i)[0] for i in range(types)]
    footer = at + 6 * types + chars + leaps * 12 + is_std + is_ut
    rule, standard = _parse_rule(data[footer:].strip(b"\n").decode())
    before = offsets[0] if transitions or standard is None else standard
    return ZoneFile(transitions, (before, *(offsets[kind] for kind in kinds)), rule)


def _resource(path: str) -> bytes:
    data = pkgutil.get_data("tzdata", path)
    if data is None:
        raise FileNotFoundError(f"tzdata/{path}")
    return data


def _parse_rule(text: str) -> tuple[YearlyRule | None, int | None]:
    """The rule for two changes a year, and the standard offset; both None where the footer is empty."""
    if not text:
        return None, None
    match = _RULE.fullmatch(text)
    if not match:
        raise ValueError(f"tzdata has a footer that POSIX does not know: {text}")
    standard = -_seconds(match[1])
    if match[3] is None:
        return None, standard
    summer = -_seconds(match[2]) if match[2] else standard + 3_600
    begins = YearlyChange(match[3], _seconds(match[4] or "2"))
    ends = YearlyChange(match[5], _seconds(match[6] or "2"))
    return YearlyRule(standard, summer, begins, ends), standard


def _seconds(clock: str) -> int:
    """POSIX writes offsets west of Greenwich as positive; a time of day may be negative or beyond 24 hours."""
    parts = [int(part) for part in clock.lstrip("+-").split(":")] + [0, 0]
    seconds = parts[0] * 3_600 + parts[1] * 60 + parts[2]
    return -seconds if clock[0] == "-" else seconds
