"""`cast` of a value in Python. Texts are read strictly: no spaces and no other spellings; anything else is an error."""

from __future__ import annotations

import math
import re
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import cast as typed

from calendars import CalendarError, format_instant, parse_instant
from chronicle.expressions.errors import EvaluationError
from chronicle.expressions.exact import fit_decimal, fit_int, overflow
from chronicle.types import DATE, INT64, DataType, Kind, Value

_WHOLE = r"-?[0-9]{1,40}"
_POINT = _WHOLE + r"(\.[0-9]{1,40})?"
_DAY = r"(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
TEXTS = {
    Kind.INT64: _WHOLE,
    Kind.DECIMAL: _POINT,
    Kind.DOUBLE: _POINT + r"([eE][+-]?[0-9]{1,2})?",
    Kind.BOOL: "true|false",
    Kind.DATE: _DAY,
    Kind.TIMESTAMP: f"{_DAY}[T ]{_TIME}(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])",
}
"""The texts that each type is read from, as regular expressions that Python, RE2 and Java understand alike."""

_PATTERNS = {kind: re.compile(text, re.ASCII) for kind, text in TEXTS.items()}
_EPOCH = date(1970, 1, 1)
_MICROS_OF_A_DAY = 86_400_000_000


def cast_value(value: Value, source: DataType, target: DataType) -> Value:
    """The value in the target type; EvaluationError where it does not fit or cannot be read."""
    if value is None or source == target:
        return value
    match target.kind:
        case Kind.STRING:
            return _to_text(value, source)
        case Kind.INT64:
            return fit_int(_to_whole(value), INT64)
        case Kind.DECIMAL:
            return fit_decimal(_to_number(value, target), target)
        case Kind.DOUBLE:
            return float(_readable(value, target) if isinstance(value, str) else typed("int | Decimal", value))
        case Kind.BOOL:
            return _readable(value, target) == "true"
        case Kind.DATE:
            return _to_day(value)
        case Kind.TIMESTAMP:
            return _to_instant(value)


def _to_text(value: Value, source: DataType) -> str:
    match source.kind:
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.TIMESTAMP:
            return format_instant(typed("int", value))
        case Kind.DECIMAL:
            return f"{value:f}"
        case _:
            return str(value)


def _to_whole(value: Value) -> int:
    if isinstance(value, bool):
        return int(value)
    number = Decimal(value) if isinstance(value, float) and math.isfinite(value) else _to_number(value, INT64)
    return int(number.to_integral_value(ROUND_HALF_UP))


def _to_number(value: Value, target: DataType) -> Decimal:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise overflow(str(value), target)
        return Decimal(repr(value))
    if isinstance(value, str):
        return Decimal(_readable(value, target))
    return Decimal(typed("int | Decimal", value))


def _to_day(value: Value) -> date:
    if isinstance(value, int):
        return _EPOCH + timedelta(days=value // _MICROS_OF_A_DAY)
    try:
        return date.fromisoformat(_readable(value, DATE))
    except ValueError:
        raise _unreadable(value, DATE) from None


def _to_instant(value: Value) -> int:
    if isinstance(value, date):
        return (value - _EPOCH).days * _MICROS_OF_A_DAY
    try:
        return int(parse_instant(_readable(value, DataType(Kind.TIMESTAMP))))
    except CalendarError as error:
        raise EvaluationError(str(error), getattr(error, "fix", "")) from None


def _readable(value: Value, target: DataType) -> str:
    if not isinstance(value, str) or not _PATTERNS[target.kind].fullmatch(value):
        raise _unreadable(value, target)
    return value


def _unreadable(value: Value, target: DataType) -> EvaluationError:
    return EvaluationError(f"'{str(value)[:40]}' is not a {target}", _EXAMPLES.get(target.kind, ""))


_EXAMPLES = {
    Kind.TIMESTAMP: "write it like 2026-01-31T15:00:00Z, with Z or an offset",
    Kind.DATE: "write it like 2026-01-31",
    Kind.BOOL: "write true or false",
}
