"""JSON values to the contract's types, strictly: what is not exactly of the type is malformed.

The patterns are the grammar of the texts; they are plain enough for any regex engine, so that a bulk decoder can hold
the common case to the same grammar and leave the rest to this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from math import isfinite
from typing import assert_never

from chronicle.types import MAX_PRECISION, DataType, Kind, Value

DECIMAL_PATTERN = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,6})?"
DATE_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIMESTAMP_PATTERN = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)"
)

MIN_INT64, MAX_INT64 = -(1 << 63), (1 << 63) - 1

_SHOWN = 40
_EXACT = Context(prec=2 * MAX_PRECISION)
_DECIMAL = re.compile(DECIMAL_PATTERN)
_DATE = re.compile(DATE_PATTERN)
_TIMESTAMP = re.compile(TIMESTAMP_PATTERN)
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)?")
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_MICRO = (1 - _EPOCH_DAY) * 86_400_000_000
_LAST_MICRO = (date.max.toordinal() + 1 - _EPOCH_DAY) * 86_400_000_000 - 1


class NumberText(str):
    """A JSON number with a fraction or an exponent, as it was written: a float would lose digits."""

    __slots__ = ()


class WrongValueError(ValueError):
    """Why a value is not of its column's type."""


Parser = Callable[[object], Value]


def show(value: object) -> str:
    """The value as JSON, shortened."""
    text = str(value) if isinstance(value, NumberText) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def parser_of(declared: DataType) -> Parser:
    match declared.kind:
        case Kind.STRING:
            return _string
        case Kind.INT64:
            return _int64
        case Kind.DOUBLE:
            return _double
        case Kind.BOOL:
            return _bool
        case Kind.TIMESTAMP:
            return parse_timestamp
        case Kind.DATE:
            return _date
        case Kind.DECIMAL:
            return _decimal_parser(declared)
        case _:
            assert_never(declared.kind)


def _string(value: object) -> Value:
    if type(value) is str:
        return value
    raise WrongValueError(f"{show(value)} is not a string")


def _int64(value: object) -> Value:
    if type(value) is not int:
        raise WrongValueError(f"{show(value)} is not an int64")
    if not MIN_INT64 <= value <= MAX_INT64:
        raise WrongValueError(f"{show(value)} is outside the range of int64")
    return value


def _double(value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | NumberText):
        raise WrongValueError(f"{show(value)} is not a double")
    try:
        found = float(value)
    except OverflowError:
        found = float("inf")
    if not isfinite(found):
        raise WrongValueError(f"{show(value)} is outside the range of double")
    return found + 0.0  # one zero: -0.0 and 0.0 are the same key


def _bool(value: object) -> Value:
    if isinstance(value, bool):
        return value
    raise WrongValueError(f"{show(value)} is not a bool")


def _date(value: object) -> Value:
    if type(value) is str and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise WrongValueError(f"{show(value)} is not a day of the calendar") from None
    raise WrongValueError(f"{show(value)} is not a date like 2026-03-01")


def parse_timestamp(value: object) -> int:
    """Microseconds since 1970 of an ISO 8601 date-time with Z or an offset; finer digits are cut off."""
    match = _TIMESTAMP.fullmatch(value) if type(value) is str else None
    if match is None:
        if type(value) is str and _LOCAL.fullmatch(value):
            raise WrongValueError(f"{show(value)} has no offset; a timestamp ends with Z or one like -05:00")
        raise WrongValueError(f"{show(value)} is not a timestamp like 2026-03-01T10:00:00Z")
    day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = _day_number(day)
    except ValueError:
        raise WrongValueError(f"{show(value)} is not a day of the calendar") from None
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise WrongValueError(f"{show(value)} is not a time of the day")
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    local = ((days * 24 + hours) * 3600 + minutes * 60 + seconds) * 1_000_000 + micros
    instant = local - _offset(zone, value)
    if not _FIRST_MICRO <= instant <= _LAST_MICRO:
        raise WrongValueError(f"{show(value)} is outside the years 1 to 9999")
    return instant


@lru_cache(maxsize=4096)
def _day_number(day: str) -> int:
    return date.fromisoformat(day).toordinal() - _EPOCH_DAY


def _offset(zone: str, value: object) -> int:
    if zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
    if hours > 23 or minutes > 59:
        raise WrongValueError(f"{show(value)} has an offset of a day or more")
    east = (hours * 60 + minutes) * 60_000_000
    return -east if zone[0] == "-" else east


def _decimal_parser(declared: DataType) -> Parser:
    whole, scale = declared.precision - declared.scale, declared.scale
    point = rf"\.[0-9]{{{scale}}}" if scale else ""
    plain = re.compile(rf"-?[0-9]{{1,{whole}}}{point}" if whole else rf"-?0{point}")
    zero = Decimal(0).scaleb(-scale)

    def parse(value: object) -> Value:
        if type(value) is str and plain.fullmatch(value):  # written with just the declared scale, as most are
            return Decimal(value) or zero
        return _decimal(value, declared)

    return parse


def _decimal(value: object, declared: DataType) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WrongValueError(f"{show(value)} is not a {declared}")
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise WrongValueError(f"{show(value)} is not a {declared}")
    number = Decimal(value)
    places = -int(number.as_tuple().exponent)
    if places > declared.scale:
        raise WrongValueError(f"{show(value)} has {places} digits after the point, {declared} has {declared.scale}")
    if number and number.adjusted() >= declared.precision - declared.scale:
        raise WrongValueError(f"{show(value)} has more digits than {declared}")
    return (number or Decimal(0)).quantize(Decimal(1).scaleb(-declared.scale), context=_EXACT)
