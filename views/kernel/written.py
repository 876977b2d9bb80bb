"""Values as they are commonly written, at known places of a text: whole columns at once, and which of them are certain.

The grammar is that of `chronicle.appends.values`, less what is rare; a value that is not certain is for others to read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.arrow import arrow_type
from chronicle.types import Column, DataType, Kind

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]

_LONGEST = 18
"""Digits that fit an int64 whatever they are."""

_BEYOND = 32
"""Zeros behind a text, so that the longest timestamp can be looked at wherever it would begin."""

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_ZERO = ord("0")
_SECOND, _MINUTE, _HOUR, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000


@dataclass(frozen=True, slots=True)
class Places:
    """Values at [start, end) of a text; quoted ones are without their quotes."""

    start: Int64s
    end: Int64s
    quoted: bool

    def where(self, good: Bools) -> Places:
        """Empty values for the others, just behind the last good one, so that places stay in order and inside."""
        last = np.maximum.accumulate(np.where(good, self.end, 0))
        return Places(np.where(good, self.start, last), np.where(good, self.end, last), self.quoted)


@dataclass(frozen=True, slots=True)
class Text:
    """All bodies of a block as one text; `bounds` are where they begin and end, `words[i]` the 8 bytes from i on."""

    data: Bytes
    bounds: Int64s
    words: npt.NDArray[np.uint64]
    buffer: pa.Buffer

    @classmethod
    def of(cls, bodies: pa.BinaryArray) -> Text:
        bounds = np.frombuffer(bodies.buffers()[1], np.int32)[bodies.offset : bodies.offset + len(bodies) + 1]
        origin = int(bounds[0])
        data = np.zeros(int(bounds[-1]) - origin + _BEYOND, np.uint8)
        data[:-_BEYOND] = np.frombuffer(bodies.buffers()[2], np.uint8)[origin : int(bounds[-1])]
        words = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, 0, (1,))
        return cls(data, bounds.astype(np.int64) - origin, words, pa.py_buffer(data))

    def has(self, at: Int64s, literal: bytes) -> Bools:
        """Whether the literal stands at each place; what is beyond the end counts as different."""
        last = len(self.words) - 1
        good = np.ones(len(at), np.bool_)
        for first in range(0, len(literal), 8):
            part = literal[first : first + 8]
            mask = np.uint64((1 << 8 * len(part)) - 1)
            found = self.words[np.minimum(at + first, last)] & mask
            good &= found == np.uint64(int.from_bytes(part, "little"))
        return good

    def taken(self, places: Places) -> pa.StringArray:
        """Every second element of an array over the whole text, the others being what stands between."""
        bounds = np.empty(2 * len(places.start), np.int32)
        bounds[0::2], bounds[1::2] = places.start, places.end
        both = pa.Array.from_buffers(pa.string(), len(bounds) - 1, [None, pa.py_buffer(bounds), self.buffer])
        return both.take(pa.array(np.arange(0, len(bounds) - 1, 2, dtype=np.int32)))


def column_of(column: Column, places: Places | None, text: Text, count: int) -> tuple[pa.Array, Bools]:
    """The column's values, and which are certain; nulls where the field is not there or `null`."""
    kind = arrow_type(column.type)
    if places is None:
        return pa.nulls(count, kind), np.full(count, column.nullable)
    reader, quoted = _READERS[column.type.kind]
    null = np.zeros(count, np.bool_)
    if not places.quoted:
        null = (places.end - places.start == 4) & text.has(places.start, b"null")
    if quoted is not None and quoted != places.quoted:
        return pa.nulls(count, kind), null & column.nullable
    array, good = reader(column.type, places, text)
    if not null.any():
        return array, good
    if not column.nullable:
        return array, good & ~null
    return pc.if_else(pa.array(null), pa.scalar(None, kind), array), good | null


def _strings(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    return text.taken(places), np.ones(len(places.start), np.bool_)


def _digits(start: Int64s, end: Int64s, text: Text) -> tuple[Int64s, Bools]:
    """The number of the digits at [start, end), at least one and at most 18."""
    length = end - start
    good = (length >= 1) & (length <= _LONGEST)
    value = np.zeros(len(start), np.int64)
    last = len(text.data) - 1
    for at in range(min(int(length.max(initial=0)), _LONGEST)):
        digit = text.data[np.minimum(start + at, last)] - np.uint8(_ZERO)
        inside = length > at
        good &= (digit <= 9) | ~inside
        value = np.where(inside, value * 10 + digit, value)
    return value, good


def _int64s(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    negative = text.data[places.start] == ord("-")
    start = places.start + negative
    value, good = _digits(start, places.end, text)
    good &= (places.end - start == 1) | (text.data[start] != _ZERO)
    return pa.array(np.where(negative, -value, value)), good


def _decimals(type_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    """Digits, with a point and 1 to `scale` digits behind it or without."""
    negative = text.data[places.start] == ord("-")
    start, end, scale = places.start + negative, places.end, type_.scale
    behind = np.zeros(len(start), np.int64)
    for digits in range(1, scale + 1):
        point = end - 1 - digits
        behind[(point > start) & (text.data[np.maximum(point, 0)] == ord("."))] = digits
    whole_end = end - behind - (behind > 0)
    whole, good = _digits(start, whole_end, text)
    good &= (whole_end - start <= type_.precision - scale) & ((whole_end - start == 1) | (text.data[start] != _ZERO))
    good &= whole_end - start + scale <= _LONGEST
    value = whole * 10 ** min(scale, _LONGEST)
    if behind.any():
        fraction, sound = _digits(whole_end + 1, end, text)
        pointed = behind > 0
        good &= sound | ~pointed
        value += np.where(pointed, fraction * _POWERS[np.clip(scale - behind, 0, _LONGEST)], 0)
    value = np.where(good, np.where(negative, -value, value), 0)
    both = np.stack((value, value >> 63), axis=1)
    return pa.Array.from_buffers(arrow_type(type_), len(value), [None, pa.py_buffer(both)]), good


_POWERS = 10 ** np.arange(_LONGEST + 1, dtype=np.int64)


def _doubles(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    texts = text.taken(places)
    good: Bools = pc.match_substring_regex(texts, _NUMBER).to_numpy(zero_copy_only=False)
    numbers = pc.if_else(pa.array(good), texts, "0").cast(pa.float64()).to_numpy() + 0.0  # one zero
    return pa.array(numbers), good & np.isfinite(numbers)


def _bools(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    length = places.end - places.start
    true = (length == 4) & text.has(places.start, b"true")
    return pa.array(true), true | ((length == 5) & text.has(places.start, b"false"))


@cache
def _months() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The day number before the first day of each month from the year 0 on, and how many days it has."""
    firsts = [date(year, month, 1).toordinal() for year in range(1, 10_000) for month in range(1, 13)]
    bounds = np.array([*firsts, date.max.toordinal() + 1], np.int64)
    nothing = np.zeros(12, np.int64)  # the year 0 does not exist, so its months have no days
    before = np.concatenate((nothing, bounds[:-1] - 1 - date(1970, 1, 1).toordinal()))
    return before, np.concatenate((nothing, np.diff(bounds)))


def _two(text: Text, at: Int64s) -> tuple[npt.NDArray[np.int64], Bools]:
    """Two digits."""
    high, low = text.data[at] - np.uint8(_ZERO), text.data[at + 1] - np.uint8(_ZERO)
    return high.astype(np.int64) * 10 + low, (high <= 9) & (low <= 9)


def _day_numbers(start: Int64s, text: Text) -> tuple[Int64s, Bools]:
    """Days since 1970 of dates like 2026-03-01."""
    century, good = _two(text, start)
    year, digits = _two(text, start + 2)
    good &= digits
    month, digits = _two(text, start + 5)
    good &= digits & (month >= 1) & (month <= 12)
    day, digits = _two(text, start + 8)
    good &= digits & (text.data[start + 4] == ord("-")) & (text.data[start + 7] == ord("-"))
    before, lengths = _months()
    place = np.where(good, (century * 100 + year) * 12 + month - 1, 0)
    return before[place] + day, good & (day >= 1) & (day <= lengths[place])


def _dates(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    ten = places.end - places.start == 10
    days, good = _day_numbers(np.where(ten, places.start, 0), text)
    good &= ten
    return pa.array(np.where(good, days, 0).astype(np.int32)).view(pa.date32()), good


def _timestamps(_: DataType, places: Places, text: Text) -> tuple[pa.Array, Bools]:
    """Dates and times with seconds and Z, such as 2026-03-01T10:00:00Z, perhaps with a fraction of 1 to 6 digits."""
    length = places.end - places.start
    good = (length >= 20) & (length <= 27) & (length != 21)
    start = np.where(good, places.start, 0)
    micros, sound = _day_numbers(start, text)
    good &= sound & (text.data[start + 10] == ord("T"))
    micros = micros * _DAY
    for at, most, unit in ((11, 23, _HOUR), (14, 59, _MINUTE), (17, 59, _SECOND)):
        number, sound = _two(text, start + at)
        good &= sound & (number <= most)
        micros += number * unit
    good &= (text.data[start + 13] == ord(":")) & (text.data[start + 16] == ord(":"))
    end = np.where(good, places.end, 1)
    good &= text.data[end - 1] == ord("Z")
    finer = good & (length > 20)
    if finer.any():
        fraction, sound = _digits(np.where(finer, start + 20, 0), np.where(finer, end - 1, 0), text)
        good &= ~finer | (sound & (text.data[start + 19] == ord(".")))
        micros += np.where(finer, fraction * _POWERS[np.clip(27 - length, 0, 5)], 0)
    return pa.array(np.where(good, micros, 0)).view(pa.timestamp("us", "UTC")), good


_READERS: dict[Kind, tuple[Callable[[DataType, Places, Text], tuple[pa.Array, Bools]], bool | None]] = {
    Kind.STRING: (_strings, True),
    Kind.INT64: (_int64s, False),
    Kind.DOUBLE: (_doubles, False),
    Kind.BOOL: (_bools, False),
    Kind.TIMESTAMP: (_timestamps, True),
    Kind.DATE: (_dates, True),
    Kind.DECIMAL: (_decimals, None),
}
"""By type how a value is read, and whether it is quoted (None: either)."""
