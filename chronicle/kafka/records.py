"""Record batches as a broker keeps them (KIP-98, message format 2) to columns, many messages at once.

kafka-python and Spark's connector make an object of each record, which costs more than everything else that happens to
a message. Here only the lengths are followed one by one; all other fields are read for all records of an answer at
once. `tests/chronicle/kafka/test_records.py` holds it to what kafka-python reads and writes.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from kafka.errors import CorruptRecordError
from kafka.record.legacy_records import LegacyRecordBatch

from chronicle.journal import HEADERS_TYPE
from chronicle.kafka.varints import MORE, SEVEN_BITS, read_varint, varint

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

TELLING = frozenset({"chronicle", "ce_type", "ce-type", "content-type"})
"""The headers that say what a message is; others (ids, traces) differ from message to message, and are left out."""

_BATCH = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, format, checksum, attributes, last offset delta, first and largest timestamp,
producer, its epoch, first sequence, records."""

_LENGTH_END = 12
_FORMAT_AT = 16
_CHECKED_FROM = 21
_FORMAT = 2
_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_STREAMED = {_GZIP: "gzip", _LZ4: "lz4", _ZSTD: "zstd"}
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_ABORTED = 0
_LONGEST = 64
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""Of the years 1 and 9999; a producer's clock may say anything."""


@dataclass(frozen=True, slots=True)
class Messages:
    """What a broker's answer has of a range, in order, and the offset to go on from. `headers` are the bytes of all of
    a message's headers, null where it has none."""

    offsets: Int64s
    timestamps: Int64s
    values: pa.BinaryArray
    headers: pa.BinaryArray
    next_offset: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """`instant` is the largest timestamp where the broker took the time (`stamped`), otherwise the first."""

    base: int
    instant: int
    stamped: bool
    records: int
    data: bytes | memoryview


def read_messages(answer: bytes, start: int, end: int, aborted: Sequence[tuple[int, int]] = ()) -> Messages:
    """The messages of an answer with offsets in [start, end), without those of transactions that were `aborted` (their
    producers and first offsets, as the answer has them) and without markers. A batch that was cut off is left."""
    batches, next_offset = _batches(memoryview(answer), start, end, aborted)
    with _damaged():
        found = _decoded(batches)
    inside = (found.offsets >= start) & (found.offsets < end)
    if not inside.all():
        kept = pa.array(inside)
        found = Messages(
            found.offsets[inside],
            found.timestamps[inside],
            found.values.filter(kept),
            found.headers.filter(kept),
            next_offset,
        )
    return Messages(found.offsets, found.timestamps, found.values, found.headers, min(next_offset, end))


def table_of(parts: Sequence[Messages]) -> pa.Table:
    """As the map wants it, with the columns of `Journal.read_arrow`: headers as a dictionary of those that tell."""
    values = pa.chunked_array([part.values for part in parts], pa.binary())
    headers = pa.chunked_array([part.headers for part in parts], pa.binary())
    offsets = [part.offsets for part in parts]
    return pa.table(
        {
            "offset": np.concatenate(offsets) if offsets else np.empty(0, np.int64),
            "timestamp": np.concatenate([part.timestamps for part in parts]) if offsets else np.empty(0, np.int64),
            "key": pa.nulls(len(values), pa.binary()),
            "headers": _telling(headers),
            "value": values,
        }
    )


@contextmanager
def _damaged() -> Iterator[None]:
    """A length that leads out of the data, although the checksum is right."""
    try:
        yield
    except (IndexError, ValueError) as error:
        raise CorruptRecordError(f"a record does not fit into its batch: {error}") from None


def _batches(answer: memoryview, start: int, end: int, aborted: Sequence[tuple[int, int]]) -> tuple[list[_Batch], int]:
    found: list[_Batch] = []
    waiting = deque(sorted(aborted, key=lambda each: each[1]))
    aborting: set[int] = set()
    at, next_offset = 0, start
    while at + _BATCH.size <= len(answer):
        if answer[at + _FORMAT_AT] < _FORMAT:
            base, length = struct.unpack_from(">qi", answer, at)
            if at + _LENGTH_END + length > len(answer):
                break
            old = _old_batch(answer[at : at + _LENGTH_END + length])
            found += old
            next_offset, at = max(next_offset, base + 1), at + _LENGTH_END + length
            continue
        base, length, _, _, checksum, attributes, delta, first, largest, producer, _, _, count = _BATCH.unpack_from(
            answer, at
        )
        until = at + _LENGTH_END + length
        if until > len(answer) or base >= end:
            break
        if crc32c.crc32c(answer[at + _CHECKED_FROM : until]) != checksum:
            raise CorruptRecordError(f"the batch at offset {base} does not have the checksum that it says")
        body, last = answer[at + _BATCH.size : until], base + delta
        at, next_offset = until, max(next_offset, last + 1)
        while waiting and waiting[0][1] <= last:
            aborting.add(waiting.popleft()[0])
        if attributes & _CONTROL:
            if _marker(bytes(body)) == _ABORTED:
                aborting.discard(producer)
        elif last >= start and count and not (attributes & _TRANSACTIONAL and producer in aborting):
            stamped = bool(attributes & _LOG_APPEND_TIME)
            plain = body if not attributes & _CODEC else _decompressed(attributes & _CODEC, bytes(body))
            found.append(_Batch(base, largest if stamped else first, stamped, count, plain))
    return found, next_offset


def _marker(body: bytes) -> int:
    """The type of a control record, whose key is a version and the type, of two bytes each."""
    _, at = read_varint(body, 0)
    _, at = read_varint(body, at + 1)  # after the attributes
    _, at = read_varint(body, at)
    _, at = read_varint(body, at)
    return int(struct.unpack_from(">hh", body, at)[1])


def _decompressed(codec: int, body: bytes) -> bytes:
    if codec == _SNAPPY:
        return _snappy(body)
    if codec not in _STREAMED:
        raise CorruptRecordError(f"a batch is compressed by a codec, {codec}, that nobody knows")
    with pa.CompressedInputStream(pa.BufferReader(body), _STREAMED[codec]) as stream:
        plain: bytes = stream.read()
    return plain


def _snappy(body: bytes) -> bytes:
    """Java's producer writes blocks with their lengths, others one block."""
    if not body.startswith(_XERIAL):
        return _snappy_block(body)
    parts: list[bytes] = []
    at = _XERIAL_HEADER
    while at < len(body):
        (size,) = struct.unpack_from(">i", body, at)
        parts.append(_snappy_block(body[at + 4 : at + 4 + size]))
        at += 4 + size
    return b"".join(parts)


def _snappy_block(block: bytes) -> bytes:
    size = shift = 0
    for byte in block:  # its plain length comes first, seven bits a byte
        size |= (byte & SEVEN_BITS) << shift
        shift += 7
        if byte < MORE:
            break
    plain: bytes = pa.decompress(block, size, "snappy", asbytes=True)
    return plain


def _old_batch(entry: memoryview) -> list[_Batch]:
    """Messages of the formats 0 and 1, which brokers before 4.0 may still have: read by kafka-python, one by one, and
    written anew."""
    batch = LegacyRecordBatch(entry, entry[_FORMAT_AT])
    if not batch.validate_crc():
        raise CorruptRecordError("a message of an old format does not have the checksum that it says")
    return [
        _Batch(record.offset, -1 if record.timestamp is None else record.timestamp, True, 1, _record_of(record.value))
        for record in batch
    ]


def _record_of(value: bytes | None) -> bytes:
    size = b"\x01" if value is None else varint(len(value)) + value
    content = b"\x00\x00\x00\x01" + size + b"\x00"  # no attributes, no deltas, no key; no headers
    return varint(len(content)) + content


def _decoded(batches: Sequence[_Batch]) -> Messages:
    counts = np.array([batch.records for batch in batches], np.int64)
    plain = b"".join(batch.data for batch in batches)
    begins = _begins(plain)
    edges = np.cumsum([0, *(len(batch.data) for batch in batches)])
    starts = np.array(begins, np.int64)
    if len(starts) != counts.sum() or (np.append(starts, len(plain))[np.cumsum(np.append(0, counts))] != edges).any():
        raise CorruptRecordError("a batch does not have as many records as it says")
    data = np.frombuffer(plain + bytes(_LONGEST), np.uint8)
    length, at = _varints(data, starts)
    end = at + length
    delta, at = _varints(data, at + 1)
    place, at = _varints(data, at)
    key, at = _varints(data, at)
    size, at = _varints(data, at + np.maximum(key, 0))
    after = at + np.maximum(size, 0)
    if (np.maximum(key, size) > length).any() or (after >= end).any():
        raise CorruptRecordError("a record is longer than it says")
    each = np.repeat(np.arange(len(batches)), counts)
    instants = np.array([batch.instant for batch in batches], np.int64)[each]
    stamped = np.array([batch.stamped for batch in batches], np.bool_)[each]
    taken_at = np.where(stamped, instants, instants + delta)
    offsets = np.array([batch.base for batch in batches], np.int64)[each] + place
    return Messages(
        offsets,
        np.clip(taken_at, _FIRST_MS, _LAST_MS) * 1000,
        _slices(plain, at, after, size < 0),
        _slices(plain, after, end, data[after] == 0),
        0,
    )


def _begins(data: bytes) -> list[int]:
    """Where each record begins: with its length, which says where the next one does."""
    found: list[int] = []
    at, size = 0, len(data)
    try:
        while at < size:
            found.append(at)
            low = data[at]
            if low < MORE:
                at += 1 + (low >> 1)
            elif (high := data[at + 1]) < MORE:
                at += 2 + ((high << 6) | ((low & SEVEN_BITS) >> 1))
            else:
                length, after = read_varint(data, at)
                if length < 0:
                    break
                at = after + length
    except IndexError:
        at = -1
    if at != size:
        raise CorruptRecordError("the last record of a batch is cut off")
    return found


def _varints(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """The zigzag numbers that begin at these places, and the places after them."""
    byte = data[at]
    number = (byte & SEVEN_BITS).astype(np.int64)
    after = at + 1
    more, shift = np.flatnonzero(byte >= MORE), 7
    while len(more):
        byte = data[after[more]]
        number[more] |= (byte & SEVEN_BITS).astype(np.int64) << shift
        after[more] += 1
        more, shift = more[byte >= MORE], shift + 7
    return (number >> 1) ^ -(number & 1), after


def _slices(data: bytes, begins: Int64s, ends: Int64s, null: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """Pieces of the data as an array of their own; what is between them goes as further pieces, and is dropped."""
    edges = np.empty(2 * len(begins) + 1, np.int32)
    edges[0:-1:2], edges[1::2] = begins, ends
    edges[-1] = edges[-2] if len(begins) else 0
    pieces = pa.BinaryArray.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    wanted = np.arange(0, 2 * len(begins), 2)
    return pieces.take(pa.array(wanted, mask=null))


def _telling(headers: pa.ChunkedArray) -> pa.DictionaryArray:
    """The dictionary of the distinct headers that tell; null where a message has none of these."""
    encoded = pa.concat_arrays([*headers.chunks, pa.array([], pa.binary())]).dictionary_encode()
    numbers: dict[tuple[tuple[str, bytes | None], ...], int] = {}
    places = np.full(len(encoded.dictionary) + 1, -1, np.int32)  # the last is that of null
    for at, written in enumerate(encoded.dictionary.to_pylist()):
        with _damaged():
            pairs = tuple(pair for pair in _pairs(written) if pair[0] in TELLING)
        if pairs:
            places[at] = numbers.setdefault(pairs, len(numbers))
    told = pa.array([[{"key": k, "value": v} for k, v in pairs] for pairs in numbers], HEADERS_TYPE)
    indices = places[encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), told)


def _pairs(written: bytes) -> Iterator[tuple[str, bytes | None]]:
    count, at = read_varint(written, 0)
    for _ in range(count):
        size, at = read_varint(written, at)
        name, at = written[at : at + size].decode(errors="replace"), at + size
        size, at = read_varint(written, at)
        yield name, None if size < 0 else written[at : at + size]
        at += max(size, 0)
