"""The journal: an append-only log with Kafka's columns, for one machine and any number of processes.

Reading never locks and sees only what is durable. See docs/journal.md for the files and what a crash leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from chronicle.journal.faults import JournalDamagedError, JournalError, OffsetGoneError
from chronicle.journal.frames import Batch, Headers, batch_of
from chronicle.journal.layout import Layout, open_layout
from chronicle.journal.marks import DURABLE, Mark, read_mark
from chronicle.journal.reader import Extent, locate, read_columns
from chronicle.journal.recovery import needs_recovery, recover
from chronicle.journal.retention import remove_before
from chronicle.journal.writer import SEGMENT_BYTES, Writer, now_us

_READ_AHEAD = 4096
_POLL_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Record:
    """One append as the journal or Kafka keeps it."""

    offset: int
    timestamp: int
    key: bytes | None
    headers: Headers
    value: bytes | None
    slot: int = 0


class Journal:
    """An open journal; safe to share among threads, and to use after a fork."""

    def __init__(self, layout: Layout, writer: Writer) -> None:
        self._layout = layout
        self._writer = writer
        self.path = layout.directory
        self.id = layout.identity

    @classmethod
    def open(
        cls,
        path: Path | str,
        create: bool = True,
        *,
        clock: Callable[[], int] = now_us,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> Journal:
        """Opens the journal at `path`, repairing what a crash left; makes it where there is none and `create`."""
        layout = open_layout(Path(path), create=create, now=clock())
        writer = Writer(layout, clock, segment_bytes)
        if layout.writable and needs_recovery(layout):
            with writer.writing, writer.syncing:
                if needs_recovery(layout):
                    recover(layout)
        return cls(layout, writer)

    def append(
        self,
        values: Sequence[bytes],
        keys: Sequence[bytes | None] | None = None,
        headers: Headers = (),
        timestamp: int | None = None,
        *,
        headers_each: Sequence[Headers] | None = None,
    ) -> range:
        """Appends each value as one record, all or none of them, and returns their offsets once they are durable.

        `headers` are those of every record, `headers_each` gives each its own; `timestamp` (microseconds) is normally
        left to the journal's clock, and never goes back.
        """
        return self._append(batch_of(values, keys, headers, headers_each), timestamp)

    def append_arrow(self, values: Any, headers: Headers = (), timestamp: int | None = None) -> range:
        """Like `append`, for an Arrow array of bytes or text without nulls: no Python object per value."""
        return self._append(_arrow_batch(values, headers), timestamp)

    def _append(self, batch: Batch, timestamp: int | None) -> range:
        if not self._layout.writable:
            raise JournalError(f"the journal {self.path} cannot be written by this user", "check the directory's owner")
        if batch.count == 0:
            end = self.next_offset()
            return range(end, end)
        return self._writer.append(batch, timestamp)

    def next_offset(self) -> int:
        """The offset that the next append will get; everything before it is durable. Costs microseconds: poll it."""
        self._layout.check_same()
        return self._durable().next_offset

    def earliest_offset(self) -> int:
        """The first offset that is still retained."""
        return self._layout.manifest.first().base

    @property
    def size_bytes(self) -> int:
        """Bytes of the retained segments."""
        durable = self._durable()
        return durable.before + durable.position - self._layout.manifest.first().bytes_before

    @property
    def last_timestamp(self) -> int | None:
        """The timestamp of the last record, None before the first."""
        durable = self._durable()
        return durable.timestamp if durable.next_offset else None

    def wait(self, offset: int, timeout: float) -> bool:
        """Waits until the record at `offset` is there; False when `timeout` seconds have passed."""
        until = time.monotonic() + timeout
        while self.next_offset() <= offset:
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def read(self, first: int = 0, last: int | None = None) -> Iterator[Record]:
        """The records [first, last), to the durable end where `last` is None."""
        end = self.next_offset() if last is None else last
        while first < end:
            step = min(first + _READ_AHEAD, end)
            yield from records(self.read_arrow(first, step))
            first = step

    def read_arrow(self, first: int, last: int) -> Any:
        """The records [first, last) as an Arrow table (offset, timestamp in µs, key, headers, value)."""
        durable = self._range(first, last)
        try:
            return read_columns(self._layout, durable, first, last)
        except FileNotFoundError:
            self._range(first, last)  # a segment that retention removed meanwhile
            raise

    def locate(self, first: int, last: int) -> tuple[Extent, ...]:
        """The byte ranges of segments that hold the records [first, last)."""
        return tuple(locate(self._layout, self._range(first, last), first, last))

    def retain(self, before: int, floor: int | None = None) -> int:
        """Removes whole segments whose last record is older than `before` (µs); returns the bytes freed.

        Records at or after `floor` (the next offset that a consumer still needs) stay in any case.
        """
        with self._writer.writing:
            return remove_before(self._layout, before, floor)

    def close(self) -> None:
        self._writer.close()
        self._layout.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def _durable(self) -> Mark:
        mark = read_mark(self._layout.tail, DURABLE)
        if mark is None:
            raise JournalDamagedError(f"the tail of {self.path} cannot be read", "open it once with the right to write")
        return mark

    def _range(self, first: int, last: int) -> Mark:
        """The durable end, having checked that all of [first, last) can be read."""
        durable = self._durable()
        earliest = self.earliest_offset()
        if last > durable.next_offset or first < 0:
            raise OffsetGoneError(
                f"{self.path} holds appends {earliest} to {durable.next_offset - 1}; asked were {first} to {last - 1}"
            )
        if first < min(earliest, last):
            raise OffsetGoneError(
                f"appends {first} to {min(earliest, last) - 1} of {self.path} are no longer retained",
                "raise `retain` next time; to go on without them, start from a new state",
            )
        return durable


def records(table: Any) -> Iterator[Record]:
    """The rows of a table that `read_arrow` gave."""
    for batch in table.to_batches():
        dictionary: list[Headers] = [
            tuple((pair["key"], pair["value"]) for pair in each) for each in batch["headers"].dictionary.to_pylist()
        ]
        headers = (() if at is None else dictionary[at] for at in batch["headers"].indices.to_pylist())
        rest = (batch[name].to_pylist() for name in ("offset", "timestamp", "key", "value"))
        for offset, timestamp, key, value, each in zip(*rest, headers, strict=True):
            yield Record(offset, timestamp, key, each, value)


def _arrow_batch(values: Any, headers: Headers) -> Batch:
    if values.null_count:
        raise JournalError("an append needs a value; the array has nulls")
    wide = values.cast(pa.large_binary())
    if isinstance(wide, pa.ChunkedArray):
        wide = pa.concat_arrays(wide.chunks) if wide.num_chunks else pa.array([], pa.large_binary())
    _, ends, data = wide.buffers()
    all_ends = np.frombuffer(ends, np.int64)[wide.offset : wide.offset + len(wide) + 1]
    start, end = int(all_ends[0]), int(all_ends[-1])
    return Batch(memoryview(data or b"")[start:end], all_ends - start, None, headers)
