"""Frames as Arrow columns: a large frame is sliced in place, a run of small ones is gathered in one step.

No step works record by record; the Python loops here go over frames, or over distinct headers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chronicle.journal.frames import HEADER_BYTES, HEADERS_EACH, KEYS, Headers, decode_headers
from chronicle.journal.scan import Frame
from chronicle.journal.segments import Bytes

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("headers", pa.dictionary(pa.int32(), HEADERS_TYPE)),
        pa.field("value", pa.binary()),
    ]
)
"""Kafka's columns. Headers are few and repeat, so they are a dictionary: look at each distinct one once."""

_SMALL = 512
_RUN_BYTES = 1 << 30
"""A gathered run must stay within Arrow's 32-bit ends."""

Indexes = NDArray[np.int32]


class HeaderDictionary:
    """Numbers the distinct headers of one read."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {b"": -1}
        self._found: list[Headers] = []

    def number(self, blob: bytes) -> int:
        """The number of these headers, -1 for none."""
        known = self._numbers.get(blob)
        if known is None:
            headers = decode_headers(blob)
            known = len(self._found) if headers else -1
            self._numbers[blob] = known
            if headers:
                self._found.append(headers)
        return known

    def values(self) -> Any:
        rows = [[{"key": key, "value": value} for key, value in headers] for headers in self._found]
        return pa.array(rows, HEADERS_TYPE)


class Chunks:
    """The columns of a read as they grow, one chunk per large frame or run of small ones."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._last = last
        self._headers = HeaderDictionary()
        self._columns: tuple[list[Any], ...] = ([], [], [], [])
        self._numbers: list[Indexes] = []

    def add(self, buffer: Bytes, frames: Sequence[Frame]) -> None:
        run: list[Frame] = []
        for frame in frames:
            if frame[4] < _SMALL and not frame[2] & (KEYS | HEADERS_EACH) and frame[1] < _RUN_BYTES // _SMALL:
                run.append(frame)
            else:
                self._add_run(buffer, run)
                run = []
                self._add_frame(buffer, frame)
        self._add_run(buffer, run)

    def table(self) -> Any:
        dictionary = self._headers.values()
        headers = [
            pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32(), mask=numbers < 0), dictionary)
            for numbers in self._numbers
        ]
        offset, timestamp, key, value = self._columns
        columns = zip((offset, timestamp, key, headers, value), SCHEMA, strict=True)
        return pa.table([pa.chunked_array(chunks, field.type) for chunks, field in columns], SCHEMA)

    def _add_frame(self, buffer: Bytes, frame: Frame) -> None:
        start, _, flags, base, count, timestamp, shared = frame
        low, high = max(self._first - base, 0), min(self._last - base, count)
        if low >= high:
            return
        at = start + HEADER_BYTES
        blob = buffer[at : at + shared].tobytes()
        value, at = _column(buffer, at + shared, count)
        key = pa.nulls(count, pa.binary())
        if flags & KEYS:
            valid = buffer[at : at + count]
            bits = np.packbits(valid, bitorder="little")
            key, at = _column(buffer, at + count, count, bits)
        if flags & HEADERS_EACH:
            each, at = _column(buffer, at, count)
            numbers = np.fromiter(map(self._headers.number, each.to_pylist()), np.int32, count)
        else:
            numbers = np.full(count, self._headers.number(blob), np.int32)
        offsets = np.arange(base + low, base + high, dtype=np.int64)
        timestamps = np.full(high - low, timestamp, np.int64)
        self._put(offsets, timestamps, key[low:high], numbers[low:high], value[low:high])

    def _add_run(self, buffer: Bytes, run: Sequence[Frame]) -> None:
        if not run:
            return
        table = np.array(run, np.int64)
        starts, bases, counts, stamps, shared = table[:, 0], table[:, 3], table[:, 4], table[:, 5], table[:, 6]
        within = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
        offsets = np.repeat(bases, counts) + within
        ends_at = starts + HEADER_BYTES + shared
        data_at = ends_at + 4 * (counts + 1)
        words = buffer.view("<i4")
        place = np.repeat(ends_at // 4, counts) + within
        data = np.repeat(data_at, counts)
        begin, end = words[place] + data, words[place + 1] + data
        numbers = np.repeat(self._run_headers(buffer, ends_at, shared), counts)
        wanted = slice(*np.searchsorted(offsets, (self._first, self._last)))
        if wanted.start == wanted.stop:
            return
        value = _gather(buffer, begin[wanted], end[wanted])
        timestamps = np.repeat(stamps, counts)[wanted]
        self._put(offsets[wanted], timestamps, pa.nulls(len(value), pa.binary()), numbers[wanted], value)

    def _run_headers(self, buffer: Bytes, ends_at: NDArray[np.int64], shared: NDArray[np.int64]) -> Indexes:
        if not shared.any():
            return np.full(len(shared), -1, np.int32)
        whole = buffer.data
        number = self._headers.number
        blobs = (bytes(whole[end - size : end]) for end, size in zip(ends_at.tolist(), shared.tolist(), strict=True))
        return np.fromiter(map(number, blobs), np.int32, len(shared))

    def _put(self, offset: Any, timestamp: Any, key: Any, numbers: Indexes, value: Any) -> None:
        for column, chunk in zip(self._columns, (offset, timestamp, key, value), strict=True):
            column.append(pa.array(chunk) if isinstance(chunk, np.ndarray) else chunk)
        self._numbers.append(numbers)


def _column(buffer: Bytes, at: int, count: int, bits: Bytes | None = None) -> tuple[Any, int]:
    """The binary array whose ends stand at `at`, and where it ends."""
    ends = np.frombuffer(buffer[at : at + 4 * (count + 1)].tobytes(), "<i4") if at % 4 else None
    if ends is None:
        ends = buffer[at : at + 4 * (count + 1)].view("<i4")
    data_at = at + 4 * (count + 1)
    end = data_at + int(ends[-1])
    validity = None if bits is None else pa.py_buffer(bits)
    column = pa.Array.from_buffers(
        pa.binary(), count, [validity, pa.py_buffer(ends), pa.py_buffer(buffer[data_at:end])]
    )
    return column, end


def _gather(buffer: Bytes, begin: NDArray[np.int64], end: NDArray[np.int64]) -> Any:
    """The values at [begin, end): every second element of an array over the whole buffer, the others being the gaps."""
    origin = int(begin[0])
    ends = np.empty(2 * len(begin), np.int32)
    ends[0::2] = begin - origin
    ends[1::2] = end - origin
    data = pa.py_buffer(buffer[origin : int(end[-1])])
    both = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), data])
    return both.take(pa.array(np.arange(0, len(ends) - 1, 2)))
