"""The order-preserving encoding of keys, value by value, and the shard function.

A stored key is `view id u16 | start i64 | group key`, all big endian, signs flipped, so that LMDB's byte order is the
order of the values: expiry is a range delete, a scan comes out sorted, one period of one key is one get. Each column
of a group key is a marker (0 null, 1 present; nulls first) and its body: fixed width for all types but strings, which
are UTF-8 with 0x00 and 0x01 escaped and a 0x00 at the end. A null of a fixed-width type is as wide as a value.

Format version 1. `views.state.arrow_keys` encodes whole Arrow columns to the same bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Context, Decimal
from hashlib import blake2b
from zlib import crc32

from chronicle.types import DataType, Kind, Value

NO_PERIOD = -(1 << 63)
"""The start under which the rows of a view without periods are stored."""

SHORT_KEY = 480
"""A stored group key is shorter than this, or exactly this long and the prefix and hash of a longer one (LMDB's keys
end at 511 bytes). The full key then stands at the end of the row."""

_HASH = 16
_SIGN64 = 1 << 63
_SIGN128 = 1 << 127
_MASK64 = (1 << 64) - 1
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_EPOCH = date(1970, 1, 1)
_NAN = 0x7FF8000000000000
_WIDE = Context(prec=80)

_U64 = struct.Struct(">BQ")
_U32 = struct.Struct(">BI")
_F64 = struct.Struct(">d")
_Q = struct.Struct(">Q")
_PREFIX = struct.Struct(">HQ")

Encoder = Callable[[Value], bytes]


def shard_of(key: bytes, shards: int) -> int:
    """The shard that holds a group key (full, not shortened): part of the state format."""
    return crc32(key) % shards


def row_prefix(view: int, start: int = NO_PERIOD) -> bytes:
    return _PREFIX.pack(view, start + _SIGN64)


def view_prefix(view: int) -> bytes:
    return view.to_bytes(2, "big")


def split_row_key(stored: bytes) -> tuple[int, int, bytes]:
    """View id, start and stored group key of a row's key."""
    view, start = _PREFIX.unpack_from(stored)
    return view, start - _SIGN64, stored[10:]


def shorten(key: bytes) -> bytes:
    """The form of a group key that is stored: itself, unless it is too long for LMDB."""
    if len(key) < SHORT_KEY:
        return key
    return key[: SHORT_KEY - _HASH] + blake2b(key, digest_size=_HASH).digest()


def is_shortened(stored: bytes) -> bool:
    return len(stored) == SHORT_KEY


def _encode_int64(value: Value) -> bytes:
    if value is None:
        return bytes(9)
    if type(value) is not int or not -_SIGN64 <= value < _SIGN64:
        raise ValueError(f"{value!r} is no 64-bit integer")
    return _U64.pack(1, value + _SIGN64)


def _encode_double(value: Value) -> bytes:
    if value is None:
        return bytes(9)
    if not isinstance(value, float | int):
        raise ValueError(f"{value!r} is no number")
    number = float(value)
    # All NaNs are one, and + 0.0 turns -0.0 into 0.0.
    bits = _NAN if number != number else _Q.unpack(_F64.pack(number + 0.0))[0]
    return _U64.pack(1, bits ^ _MASK64 if bits & _SIGN64 else bits | _SIGN64)


def _encode_bool(value: Value) -> bytes:
    if value is None:
        return b"\x00\x00"
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is no bool")
    return b"\x01\x01" if value else b"\x01\x00"


def _encode_date(value: Value) -> bytes:
    if value is None:
        return bytes(5)
    if not isinstance(value, date):
        raise ValueError(f"{value!r} is no date")
    return _U32.pack(1, value.toordinal() - _EPOCH_ORDINAL + (1 << 31))


def _encode_string(value: Value) -> bytes:
    if value is None:
        return b"\x00"
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no string")
    body = value.encode()
    if b"\x00" in body or b"\x01" in body:
        body = body.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01")
    return b"\x01" + body + b"\x00"


def _decimal_encoder(scale: int) -> Encoder:
    def encode(value: Value) -> bytes:
        if value is None:
            return bytes(17)
        number = value if isinstance(value, Decimal) else Decimal(value)  # type: ignore[arg-type]  # an int is exact too
        scaled = number.scaleb(scale, _WIDE)
        whole = int(scaled)
        if whole != scaled:
            raise ValueError(f"{value} has more than {scale} digits after the point")
        if not -_SIGN128 <= whole < _SIGN128:
            raise ValueError(f"{value} has more digits than any decimal")
        return b"\x01" + (whole + _SIGN128).to_bytes(16, "big")

    return encode


def encoder_of(column: DataType) -> Encoder:
    """The encoder of one column; a value of another type raises ValueError."""
    match column.kind:
        case Kind.INT64 | Kind.TIMESTAMP:
            return _encode_int64
        case Kind.STRING:
            return _encode_string
        case Kind.DOUBLE:
            return _encode_double
        case Kind.BOOL:
            return _encode_bool
        case Kind.DATE:
            return _encode_date
        case Kind.DECIMAL:
            return _decimal_encoder(column.scale)


def key_encoder(types: Sequence[DataType]) -> Callable[[Sequence[Value]], bytes]:
    """values, in the columns' order -> the group key."""
    encoders = [encoder_of(column) for column in types]
    if len(encoders) == 1:
        only = encoders[0]
        return lambda values: only(values[0])
    return lambda values: b"".join([encode(value) for encode, value in zip(encoders, values, strict=True)])


def decode_key(types: Sequence[DataType], key: bytes) -> tuple[Value, ...]:
    """The values of a full group key (of a shortened one, pass the full key that its row holds)."""
    values: list[Value] = []
    at = 0
    for column in types:
        value, at = _decode(column, key, at)
        values.append(value)
    if at != len(key):
        raise ValueError(f"a key of {len(types)} columns ends at byte {at} of {len(key)}")
    return tuple(values)


def _decode(column: DataType, key: bytes, at: int) -> tuple[Value, int]:
    present = key[at] == 1
    match column.kind:
        case Kind.STRING:
            if not present:
                return None, at + 1
            end = key.index(b"\x00", at + 1)
            body = key[at + 1 : end]
            if b"\x01" in body:
                body = body.replace(b"\x01\x01", b"\x00").replace(b"\x01\x02", b"\x01")
            return body.decode(), end + 1
        case Kind.INT64 | Kind.TIMESTAMP:
            return (_U64.unpack_from(key, at)[1] - _SIGN64 if present else None), at + 9
        case Kind.DOUBLE:
            bits = _U64.unpack_from(key, at)[1]
            raw = bits ^ _SIGN64 if bits & _SIGN64 else bits ^ _MASK64
            return (_F64.unpack(_Q.pack(raw))[0] if present else None), at + 9
        case Kind.BOOL:
            return (key[at + 1] == 1 if present else None), at + 2
        case Kind.DATE:
            days = _U32.unpack_from(key, at)[1] - (1 << 31)
            return (_EPOCH + timedelta(days=days) if present else None), at + 5
        case Kind.DECIMAL:
            whole = int.from_bytes(key[at + 1 : at + 17], "big") - _SIGN128
            return (Decimal(whole).scaleb(-column.scale, _WIDE) if present else None), at + 17
