"""How a batch of appends lies in a segment: one frame, column by column, so that reading is slicing.

    header 56 B | headers shared by all records | value ends int32 × (count + 1) | value bytes
                | keys: ends, validity, bytes   | headers of each: ends, bytes   | padding to 8 B

The value column is exactly an Arrow binary array. A frame carries the checksum of its header and of its payload, both
seeded with the journal's identity, so that bytes of another journal (or a frame quoted inside a message) never pass
for a frame of this one. A batch larger than `FRAME_BYTES` becomes several frames; all but its last say `MORE`, and a
batch without its last frame does not exist.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronicle.journal.faults import JournalError

Headers = tuple[tuple[str, bytes | None], ...]
"""Kafka's headers: names may repeat, values may be null."""

Ends = NDArray[np.int64]

MAGIC = b"CHJ1"
HEADER = struct.Struct("<4sIQqIIqQII")
"""magic, flags, length, base offset, count, payload checksum, timestamp, durable up to, shared headers, own checksum"""
HEADER_BYTES = HEADER.size
CHECKED_BYTES = HEADER_BYTES - 4

MORE = 1
KEYS = 2
HEADERS_EACH = 4

FRAME_BYTES = 1 << 20
FRAME_RECORDS = 1 << 16
MAX_VALUE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Payload:
    """What a frame holds before it is known where in the journal it goes."""

    flags: int
    count: int
    shared_headers: int
    body: bytes
    checksum: int

    def header(self, base: int, timestamp: int, durable: int, seed: int) -> bytes:
        length = HEADER_BYTES + len(self.body)
        unchecked = HEADER.pack(
            MAGIC, self.flags, length, base, self.count, self.checksum, timestamp, durable, self.shared_headers, 0
        )[:CHECKED_BYTES]
        return unchecked + zlib.crc32(unchecked, seed).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of one append call: values in one run of bytes, `ends` with a leading 0."""

    data: bytes | memoryview
    ends: Ends
    keys: Sequence[bytes | None] | None = None
    headers: Headers = ()
    headers_each: Sequence[Headers] | None = None

    @property
    def count(self) -> int:
        return len(self.ends) - 1


def seed_of(identity: bytes) -> int:
    return zlib.crc32(identity)


def encode_headers(headers: Headers) -> bytes:
    if not headers:
        return b""
    parts = [struct.pack("<H", len(headers))]
    for name, value in headers:
        written = name.encode()
        parts.append(struct.pack("<Hi", len(written), -1 if value is None else len(value)))
        parts.append(written)
        parts.append(value or b"")
    return b"".join(parts)


def decode_headers(blob: bytes) -> Headers:
    if not blob:
        return ()
    (count,) = struct.unpack_from("<H", blob)
    at = 2
    found: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name_bytes, value_bytes = struct.unpack_from("<Hi", blob, at)
        at += 6
        name = blob[at : at + name_bytes].decode()
        at += name_bytes
        found.append((name, None if value_bytes < 0 else blob[at : at + value_bytes]))
        at += max(value_bytes, 0)
    return tuple(found)


def batch_of(
    values: Sequence[bytes],
    keys: Sequence[bytes | None] | None,
    headers: Headers,
    headers_each: Sequence[Headers] | None = None,
) -> Batch:
    for name, column in (("keys", keys), ("headers", headers_each)):
        if column is not None and len(column) != len(values):
            raise JournalError(f"{len(values)} values but {name} for {len(column)}")
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=ends[1:])
    return Batch(b"".join(values), ends, keys, headers, headers_each)


def payloads(batch: Batch, seed: int) -> Iterator[Payload]:
    """The frames of a batch, cut where one would outgrow `FRAME_BYTES` or `FRAME_RECORDS`."""
    ends = batch.ends
    first = 0
    while first < batch.count:
        within = int(np.searchsorted(ends, ends[first] + FRAME_BYTES, "right")) - 1
        last = min(max(within, first + 1), first + FRAME_RECORDS, batch.count)
        yield _payload(batch, first, last, seed)
        first = last


def _payload(batch: Batch, first: int, last: int, seed: int) -> Payload:
    start, end = int(batch.ends[first]), int(batch.ends[last])
    if end - start > MAX_VALUE_BYTES:
        raise JournalError(f"a message of {end - start} bytes is too large; the journal takes up to {MAX_VALUE_BYTES}")
    flags = MORE if last < batch.count else 0
    parts: list[bytes | memoryview] = []
    shared = b""
    if batch.headers_each is None:
        shared = _padded(encode_headers(batch.headers))
        parts.append(shared)
    parts.append((batch.ends[first : last + 1] - start).astype("<i4").tobytes())
    parts.append(memoryview(batch.data)[start:end])
    if batch.keys is not None:
        flags |= KEYS
        parts.append(_key_column(batch.keys[first:last]))
    if batch.headers_each is not None:
        flags |= HEADERS_EACH
        parts.append(_column([encode_headers(each) for each in batch.headers_each[first:last]]))
    body = _padded(b"".join(parts))
    return Payload(flags, last - first, len(shared), body, zlib.crc32(body, seed))


def _padded(blob: bytes) -> bytes:
    return blob + bytes(-len(blob) % 8)


def _column(items: Sequence[bytes]) -> bytes:
    ends = np.zeros(len(items) + 1, "<i4")
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=ends[1:])
    return ends.tobytes() + b"".join(items)


def _key_column(keys: Sequence[bytes | None]) -> bytes:
    present = np.fromiter((key is not None for key in keys), np.uint8, len(keys))
    return present.tobytes() + _column([key or b"" for key in keys])
