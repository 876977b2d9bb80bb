"""Which segment holds an offset, and where in it: a manifest searched by bisection, and a sparse index per segment.

The manifest has one fixed-size entry per segment; it is extended when a segment is begun and replaced as a whole by
retention. An index has an entry about every `INDEX_BYTES` of its segment. So a read from any offset costs the same
number of small preads however long the journal has become, and no directory is ever listed.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chronicle.journal.faults import JournalDamagedError

INDEX_BYTES = 64 << 10

Bytes = NDArray[np.uint8]

_ENTRY = struct.Struct("<qqqqI4x")
_CHECKED_BYTES = 32
_INDEX = np.dtype([("offset", "<i8"), ("position", "<i8")])


@dataclass(frozen=True, slots=True)
class Segment:
    base: int
    first_timestamp: int
    last_timestamp_before: int
    """The timestamp of the last record of the segment before this one."""
    bytes_before: int

    def pack(self) -> bytes:
        body = _ENTRY.pack(self.base, self.first_timestamp, self.last_timestamp_before, self.bytes_before, 0)
        checksum = zlib.crc32(body[:_CHECKED_BYTES])
        return body[:_CHECKED_BYTES] + struct.pack("<I4x", checksum)


def segment_path(directory: Path, base: int) -> Path:
    return directory / f"{base:020d}.log"


def index_path(directory: Path, base: int) -> Path:
    return directory / f"{base:020d}.index"


class Manifest:
    """The segments of a journal, as they stand on disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "segments"

    def last(self) -> Segment:
        with _opened(self._path) as file:
            return self._entry(file, self._count(file) - 1)

    def first(self) -> Segment:
        with _opened(self._path) as file:
            return self._entry(file, 0)

    def all(self) -> tuple[Segment, ...]:
        with _opened(self._path) as file:
            return tuple(self._entry(file, at) for at in range(self._count(file)))

    def holding(self, offset: int) -> tuple[Segment, Segment | None]:
        """The segment whose base is the last at or before `offset`, and the one after it."""
        with _opened(self._path) as file:
            count = self._count(file)
            low, high = 0, count
            while high - low > 1:
                middle = (low + high) // 2
                if self._entry(file, middle).base <= offset:
                    low = middle
                else:
                    high = middle
            return self._entry(file, low), self._entry(file, high) if high < count else None

    def put(self, segment: Segment) -> None:
        """Adds a segment durably; one that a crash left begun but unused is written over."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            count = self._count(file)
            again = count > 0 and self._entry(file, count - 1).base == segment.base
            os.pwrite(file, segment.pack(), (count - again) * _ENTRY.size)
            os.fsync(file)
        finally:
            os.close(file)

    def replace(self, segments: Sequence[Segment]) -> None:
        draft = self._path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(b"".join(segment.pack() for segment in segments))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        sync_directory(self._directory)

    def _count(self, file: int) -> int:
        """Whole and valid entries; only the last can be torn, since each is fsynced before it is used."""
        count = os.fstat(file).st_size // _ENTRY.size
        if count and self._read(file, count - 1) is None:
            count -= 1
        return count

    def _entry(self, file: int, at: int) -> Segment:
        found = self._read(file, at) if at >= 0 else None
        if found is None:
            raise JournalDamagedError(
                f"the list of segments {self._path} is damaged at entry {at}", "restore the journal from a copy"
            )
        return found

    def _read(self, file: int, at: int) -> Segment | None:
        blob = os.pread(file, _ENTRY.size, at * _ENTRY.size)
        if len(blob) < _ENTRY.size:
            return None
        *fields, checksum = _ENTRY.unpack(blob)
        return Segment(*fields) if zlib.crc32(blob[:_CHECKED_BYTES]) == checksum else None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def read_span(path: Path, start: int, end: int) -> Bytes:
    """The bytes [start, end) of a segment, which must all be there."""
    buffer = np.empty(end - start, np.uint8)
    done = 0
    with _opened(path) as file:
        while done < len(buffer):
            count = os.preadv(file, [buffer.data[done:]], start + done)
            if count == 0:
                raise JournalDamagedError(
                    f"{path} ends at byte {start + done}, but {end} were stored durably",
                    "restore the journal from a copy",
                )
            done += count
    return buffer


def read_index(directory: Path, base: int) -> NDArray[np.void]:
    """The entries (offset, position) of a segment in order, from the segment's own start on."""
    start = np.array([(base, 0)], _INDEX)
    try:
        blob = index_path(directory, base).read_bytes()
    except FileNotFoundError:
        return start
    entries = np.frombuffer(blob[: len(blob) // _INDEX.itemsize * _INDEX.itemsize], _INDEX)
    grows = entries["position"] > np.concatenate([[0], entries["position"][:-1]])
    grows &= entries["offset"] > np.concatenate([[base], entries["offset"][:-1]])
    return np.concatenate([start, entries[grows]])


def add_to_index(directory: Path, base: int, entries: Sequence[tuple[int, int]]) -> None:
    file = os.open(index_path(directory, base), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, np.array(entries, _INDEX).tobytes())
    finally:
        os.close(file)


def rewrite_index(directory: Path, base: int, entries: NDArray[np.void]) -> None:
    """The index with these entries only (without the segment's own start), durably."""
    with index_path(directory, base).open("wb") as file:
        file.write(entries.tobytes())
        file.flush()
        os.fsync(file.fileno())


def trim_index(directory: Path, base: int, position: int) -> None:
    """Drops the entries at or after `position`."""
    entries = read_index(directory, base)[1:]
    rewrite_index(directory, base, entries[entries["position"] < position])


def begin_segment(directory: Path, manifest: Manifest, segment: Segment) -> None:
    """An empty segment, durable before the manifest names it."""
    for path in (segment_path(directory, segment.base), index_path(directory, segment.base)):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
    sync_directory(directory)
    manifest.put(segment)


def sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
