"""Reading any range of offsets: bisect to the segment and the index entry, then one pread and one walk over frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.journal.columns import SCHEMA, Chunks
from chronicle.journal.faults import JournalDamagedError, OffsetGoneError
from chronicle.journal.layout import Layout
from chronicle.journal.marks import Mark
from chronicle.journal.scan import Frame, frame_at, header_at
from chronicle.journal.segments import Bytes, read_index, read_span, segment_path

WINDOW_BYTES = 32 << 20
"""How much is read at once; a window always holds at least one index entry's worth of frames."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes [start, end) of a segment, which begin with a frame and hold at least the offsets [first, last)."""

    path: Path
    segment: int
    start: int
    end: int
    first: int
    last: int


def locate(layout: Layout, durable: Mark, first: int, last: int, window: int = WINDOW_BYTES) -> Iterator[Extent]:
    """Where the offsets [first, last) lie, in pieces of about `window` bytes."""
    while first < last:
        segment, following = layout.manifest.holding(first)
        if segment.base > first:
            raise OffsetGoneError(f"append {first} is no longer retained; the earliest is {segment.base}")
        path = segment_path(layout.directory, segment.base)
        until = following.base if following else durable.next_offset
        size = path.stat().st_size if following else durable.position
        index = read_index(layout.directory, segment.base)
        index = index[index["position"] < size]
        at = int(np.searchsorted(index["offset"], first, "right")) - 1
        while first < min(until, last):
            start = int(index["position"][at])
            enough = int(np.searchsorted(index["offset"], last, "left"))
            full = int(np.searchsorted(index["position"], start + window, "right")) - 1
            stop = min(enough, max(full, at + 1))
            end, beyond = (
                (int(index["position"][stop]), int(index["offset"][stop])) if stop < len(index) else (size, until)
            )
            yield Extent(path, segment.base, start, end, first, min(beyond, last))
            at, first = stop, min(beyond, last)


def read_columns(layout: Layout, durable: Mark, first: int, last: int) -> Any:
    """The records [first, last) as an Arrow table of the journal's schema."""
    if first >= last:
        return SCHEMA.empty_table()
    chunks = Chunks(first, last)
    for extent in locate(layout, durable, first, last):
        buffer = read_span(extent.path, extent.start, extent.end)
        chunks.add(buffer, frames_of(layout, extent, buffer))
    return chunks.table()


def frames_of(layout: Layout, extent: Extent, buffer: Bytes) -> list[Frame]:
    """The frames that hold the extent's offsets, each one checked."""
    view = buffer.data
    seed = layout.seed
    frames: list[Frame] = []
    at, offset = _skip(view, seed, extent)
    while offset < extent.last:
        frame = frame_at(view, at, seed)
        if frame is None or frame[3] != offset:
            raise JournalDamagedError(
                f"{extent.path} is damaged at byte {extent.start + at} (append {offset})",
                "restore the journal from a copy",
            )
        frames.append(frame)
        at += frame[1]
        offset += frame[4]
    return frames


def _skip(view: memoryview, seed: int, extent: Extent) -> tuple[int, int]:
    """Start and base offset of the frame that holds the extent's first offset."""
    at = 0
    while (header := header_at(view, at, seed)) is not None:
        base, count, length = header
        if base + count > extent.first:
            return at, base
        at += length
    return at, -1
