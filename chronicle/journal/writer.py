"""Appending: write under one lock, make durable under another, so that appenders who wait share one fsync.

1. Under the write lock: the frames go behind the last, the `WRITTEN` mark moves.
2. Under the sync lock: whoever comes first fsyncs all that was written so far and moves the `DURABLE` mark; the others
   find their frames durable and leave. This works alike among threads and among processes (group commit).

A crash between any two steps leaves either nothing of the append, or all of it without anybody having been told.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from chronicle.journal.faults import JournalError, JournalReplacedError
from chronicle.journal.frames import HEADER_BYTES, Batch, Payload, payloads
from chronicle.journal.layout import Layout
from chronicle.journal.locks import FileLock
from chronicle.journal.marks import DURABLE, WRITTEN, Mark, read_mark, write_mark
from chronicle.journal.recovery import recover
from chronicle.journal.segments import (
    INDEX_BYTES,
    Segment,
    add_to_index,
    begin_segment,
    index_path,
    segment_path,
    trim_index,
)

SEGMENT_BYTES = 128 << 20
SEGMENT_AGE = 24 * 3600 * 1_000_000
"""A segment older than a day (in microseconds) is closed, so that retention finds whole segments to remove."""

_VECTORS = 512


def now_us() -> int:
    return time.time_ns() // 1000


class Writer:
    def __init__(self, layout: Layout, clock: Callable[[], int] = now_us, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.layout = layout
        self.writing = FileLock(layout.directory / "write.lock")
        self.syncing = FileLock(layout.directory / "sync.lock")
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._open_base = -1
        self._open_file = -1

    def append(self, batch: Batch, timestamp: int | None) -> range:
        """Appends all records of the batch or none; returns when they are durable."""
        framed = list(payloads(batch, self.layout.seed))
        with self.writing:
            self.layout.check_same()
            before = self._clean_mark()
            moment = self._moment(before, timestamp)
            before = self._rolled(before, moment)
            after = self._write(framed, before, moment)
        self._make_durable(after)
        return range(before.next_offset, after.next_offset)

    def _moment(self, before: Mark, timestamp: int | None) -> int:
        if timestamp is None:
            return max(self._clock(), before.timestamp)
        if timestamp < before.timestamp:
            raise JournalError(
                f"the timestamp {timestamp} is before that of the last append, {before.timestamp}",
                "timestamps of a journal never go back; leave it out, or give one that is not before the last",
            )
        return timestamp

    def _clean_mark(self) -> Mark:
        """The end of what was written, after clearing away what a dead appender left half done."""
        mark = read_mark(self.layout.tail, WRITTEN)
        if mark is not None and os.fstat(self._segment_file(mark.segment)).st_size == mark.position:
            return mark
        with self.syncing:
            return recover(self.layout)

    def _segment_file(self, base: int) -> int:
        if base != self._open_base:
            self.close_segment()
            self._open_file = os.open(segment_path(self.layout.directory, base), os.O_RDWR)
            self._open_base = base
        return self._open_file

    def close_segment(self) -> None:
        if self._open_base >= 0:
            os.close(self._open_file)
        self._open_base = -1

    def _write(self, framed: list[Payload], before: Mark, moment: int) -> Mark:
        file = self._segment_file(before.segment)
        durable = read_mark(self.layout.tail, DURABLE)
        durable_position = durable.position if durable and durable.segment == before.segment else 0
        position, offset, indexed = before.position, before.next_offset, before.indexed
        blobs: list[bytes] = []
        entries: list[tuple[int, int]] = []
        for payload in framed:
            if position - indexed >= INDEX_BYTES:
                entries.append((offset, position))
                indexed = position
            blobs += (payload.header(offset, moment, durable_position, self.layout.seed), payload.body)
            position += HEADER_BYTES + len(payload.body)
            offset += payload.count
        try:
            _write_all(file, blobs, before.position)
        except OSError as error:
            os.ftruncate(file, before.position)
            raise JournalError(
                f"the append to {self.layout.directory} failed: {error.strerror}; nothing of it was kept",
                "free space on the disk and append again" if error.errno == errno.ENOSPC else "",
            ) from error
        after = replace(before, position=position, next_offset=offset, timestamp=moment, indexed=indexed)
        write_mark(self.layout.tail, WRITTEN, after)
        if entries:
            add_to_index(self.layout.directory, before.segment, entries)
        return after

    def _make_durable(self, mine: Mark) -> None:
        try:
            with self.syncing:
                written, durable = self._marks()
                if written.generation != mine.generation:
                    raise JournalError(
                        "the append was taken back because the disk failed to store it", "append it again"
                    )
                if durable.next_offset >= mine.next_offset:
                    return
                os.fdatasync(self._own_file(written.segment))
                write_mark(self.layout.tail, DURABLE, written)
        except OSError as error:
            with self.writing, self.syncing:
                self._take_back()
            raise _not_stored(error) from error

    def _own_file(self, base: int) -> int:
        """The segment's file for fsync; while a frame waits for its fsync the segment cannot have been left behind."""
        if base != self._open_base:
            raise JournalReplacedError(f"segment {base} of {self.layout.directory} is not open here")
        return self._open_file

    def _marks(self) -> tuple[Mark, Mark]:
        written, durable = read_mark(self.layout.tail, WRITTEN), read_mark(self.layout.tail, DURABLE)
        if written is None or durable is None:
            raise JournalReplacedError(f"the tail of {self.layout.directory} was lost while it was open")
        return written, durable

    def _take_back(self) -> None:
        """Cuts off what a failed fsync left in doubt: after the failure the kernel may call such pages clean.

        The caller holds both locks.
        """
        written, durable = self._marks()
        if written.segment == durable.segment:
            os.ftruncate(self._segment_file(durable.segment), durable.position)
            trim_index(self.layout.directory, durable.segment, durable.position)
            write_mark(self.layout.tail, WRITTEN, replace(durable, generation=written.generation + 1))

    def _rolled(self, mark: Mark, moment: int) -> Mark:
        """The mark itself, or the start of a new segment where this one is large or old enough."""
        if mark.position == 0:
            return mark
        if mark.position < self._segment_bytes:
            begun = self.layout.manifest.last().first_timestamp
            if moment - begun < SEGMENT_AGE:
                return mark
        with self.syncing:
            try:
                os.fdatasync(self._segment_file(mark.segment))
            except OSError as error:
                self._take_back()
                raise _not_stored(error) from error
            write_mark(self.layout.tail, DURABLE, mark)
            _sync_if_there(index_path(self.layout.directory, mark.segment))
            before = mark.before + mark.position
            fresh = replace(mark, segment=mark.next_offset, position=0, indexed=0, before=before)
            begin_segment(
                self.layout.directory,
                self.layout.manifest,
                Segment(fresh.segment, moment, mark.timestamp, before),
            )
            write_mark(self.layout.tail, WRITTEN, fresh)
            write_mark(self.layout.tail, DURABLE, fresh)
        return fresh

    def close(self) -> None:
        self.close_segment()
        self.writing.close()
        self.syncing.close()


def _not_stored(error: OSError) -> JournalError:
    return JournalError(
        f"the disk failed to store the append: {error.strerror}; it was taken back",
        "check the disk, then append it again",
    )


def _write_all(file: int, blobs: list[bytes], position: int) -> None:
    for first in range(0, len(blobs), _VECTORS):
        group = blobs[first : first + _VECTORS]
        wanted = sum(map(len, group))
        done = os.pwritev(file, group, position)
        rest = memoryview(b"".join(group))[done:] if done < wanted else None
        while rest:  # a signal or a nearly full disk may cut a write short
            count = os.pwrite(file, rest, position + wanted - len(rest))
            rest = rest[count:]
        position += wanted


def _sync_if_there(path: Path) -> None:
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(file)
    finally:
        os.close(file)
