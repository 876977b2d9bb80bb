"""The key of a lookup: from Python values, JSON or the text of a command line, to the bytes that the state knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from calendars import MAX_INSTANT, MIN_INSTANT, CalendarError, parse_instant
from chronicle.appends.values import DATE_PATTERN, DECIMAL_PATTERN
from chronicle.errors import UsageError, did_you_mean
from chronicle.types import Column, DataType, Kind, Value
from views.state import decode_key, key_encoder

_PLAIN = frozenset({Kind.STRING, Kind.INT64})
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(DECIMAL_PATTERN)
_DATE = re.compile(DATE_PATTERN)
_BOOLS = {"true": True, "false": False}


class KeyReader:
    """Of one view. `encode` is the quick way, for values of the right types; everything else goes through `coerce`."""

    def __init__(self, view: str, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        self._view = view
        self._names = tuple(column.name for column in columns)
        self._types = tuple(column.type for column in columns)
        self._encode = key_encoder(self._types)
        self._plain = all(kind.kind in _PLAIN for kind in self._types)

    def read(self, given: Mapping[str, Any]) -> tuple[bytes, Mapping[str, Value]]:
        """The group key, and the key as the row shows it. UsageError for other columns, or values of other types."""
        try:
            values = [given[name] for name in self._names]
        except KeyError:
            raise self._wrong_names(given) from None
        if len(given) != len(values):
            raise self._wrong_names(given)
        if self._plain:
            try:
                return self._encode(values), given
            except ValueError:
                pass
        return self._coerced(values)

    def prefix(self, given: Mapping[str, Any]) -> bytes:
        """The beginning of every key with these values of its leading columns."""
        leading = self.columns[: len(given)]
        if {column.name for column in leading} != set(given):
            raise UsageError(
                f"a scan of view {self._view} may be narrowed by its leading key columns", ", ".join(self._names)
            )
        values = [self._value(column, given[column.name]) for column in leading]
        encoded: bytes = key_encoder([column.type for column in leading])(values)
        return encoded

    def decode(self, key: bytes) -> dict[str, Value]:
        return dict(zip(self._names, decode_key(self._types, key), strict=True))

    def _coerced(self, given: list[Any]) -> tuple[bytes, Mapping[str, Value]]:
        values = [self._value(column, value) for column, value in zip(self.columns, given, strict=True)]
        key = self._encode(values)
        return key, self.decode(key)

    def _value(self, column: Column, given: Any) -> Value:
        if given is None:
            return None
        try:
            value = coerce(column.type, given)
            key_encoder([column.type])([value])
        except (ValueError, ArithmeticError):
            raise UsageError(f"{column.name} = {given!r} is no {column.type}", self._hint(column, given)) from None
        return value

    def _hint(self, column: Column, given: Any) -> str:
        if column.nullable and given in ("", "null"):
            return f"null has no text: --null {column.name} on the command line, null={column.name} over HTTP"
        return f"the key of view {self._view}: {self._form()}"

    def _form(self) -> str:
        return ", ".join(map(str, self.columns)) or "it has no key columns"

    def _wrong_names(self, given: Mapping[str, Any]) -> UsageError:
        unknown = [name for name in given if name not in self._names]
        if unknown:
            hint = did_you_mean(unknown[0], self._names)
            return UsageError(f"view {self._view} has no key column '{unknown[0]}'{hint}", f"its key: {self._form()}")
        missing = ", ".join(name for name in self._names if name not in given)
        return UsageError(f"the key of view {self._view} needs {missing}", f"its key: {self._form()}")


def coerce(kind: DataType, given: Any) -> Value:
    """A value of the column's type from what a caller may reasonably give for it; ValueError where it is none."""
    match kind.kind, given:
        case Kind.STRING, str():
            return given
        case Kind.INT64, int() if not isinstance(given, bool):
            return given
        case Kind.INT64, str() if _INTEGER.fullmatch(given):
            return int(given)
        case Kind.DOUBLE, int() | float() if not isinstance(given, bool):
            return float(given)
        case Kind.DOUBLE, str() if _NUMBER.fullmatch(given):
            return float(given)
        case Kind.BOOL, bool():
            return given
        case Kind.BOOL, str() if given.lower() in _BOOLS:
            return _BOOLS[given.lower()]
        case Kind.DATE, datetime():
            raise ValueError(f"{given} is no date")
        case Kind.DATE, date():
            return given
        case Kind.DATE, str() if _DATE.fullmatch(given):
            return date.fromisoformat(given)
        case Kind.DECIMAL, Decimal() | int() if not isinstance(given, bool):
            return _decimal(Decimal(given), kind)
        case Kind.DECIMAL, str() if _NUMBER.fullmatch(given):
            return _decimal(Decimal(given), kind)
        case Kind.TIMESTAMP, int() | datetime() | str() if not isinstance(given, bool):
            return instant_of(given)
        case _:
            raise ValueError(f"{given!r} is no {kind}")


def _decimal(number: Decimal, kind: DataType) -> Decimal:
    if number.is_finite() and (not number or number.adjusted() < kind.precision - kind.scale):
        return number
    raise ValueError(f"{number} is no {kind}")


def instant_of(given: int | datetime | str) -> int:
    """Microseconds since 1970 of an instant: as such, as an aware datetime, or as ISO 8601 text with an offset."""
    match given:
        case int() if not isinstance(given, bool):
            if not MIN_INSTANT <= given <= MAX_INSTANT:
                raise UsageError(f"{given} is no instant", "microseconds since 1970, in the years 1 to 9999")
            return given
        case datetime():
            if given.tzinfo is None:
                raise UsageError(f"{given} has no zone", "give an aware datetime, as datetime(..., tzinfo=UTC)")
            return _microseconds(given)
        case str():
            try:
                return parse_instant(given)
            except CalendarError as error:
                raise UsageError(error.what, error.fix or error.why) from None
        case _:
            raise UsageError(f"{given!r} is no instant", "give an aware datetime, or text like 2026-03-01T10:00:00Z")


def _microseconds(moment: datetime) -> int:
    delta = moment - datetime.fromtimestamp(0, moment.tzinfo)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
