"""After a crash: keep every whole batch, cut off what is torn, refuse to guess where acknowledged bytes are damaged.

A dead process leaves bytes behind the `WRITTEN` mark; a power cut may leave the marks behind the segment, the segment
behind the `WRITTEN` mark, or no tail at all. In each case the frames themselves tell what is whole.
"""

from __future__ import annotations

import os

import numpy as np

from chronicle.journal.faults import JournalDamagedError
from chronicle.journal.layout import Layout
from chronicle.journal.marks import DURABLE, WRITTEN, Mark, read_mark, write_mark
from chronicle.journal.scan import Found, durable_beyond, whole_batches
from chronicle.journal.segments import INDEX_BYTES, read_index, read_span, rewrite_index, segment_path


def needs_recovery(layout: Layout) -> bool:
    """Whether marks, newest segment and manifest disagree, as after a crash (or in the midst of an append)."""
    written, durable = read_mark(layout.tail, WRITTEN), read_mark(layout.tail, DURABLE)
    if written is None or written != durable:
        return True
    newest = layout.manifest.last().base
    return newest != written.segment or segment_path(layout.directory, newest).stat().st_size != written.position


def recover(layout: Layout) -> Mark:
    """Makes marks, newest segment and its index agree, durably. The caller holds the write lock and the sync lock."""
    start, before = _known_durable(layout)
    path = segment_path(layout.directory, start.segment)
    file = os.open(path, os.O_RDWR)
    try:
        size = os.fstat(file).st_size
        if size < start.position:
            raise JournalDamagedError(
                f"{path} has {size} bytes, but {start.position} were stored durably", "restore the journal from a copy"
            )
        rest = read_span(path, start.position, size).data
        found = whole_batches(rest, layout.seed, start.next_offset, start.timestamp)
        if durable_beyond(rest, found.end, start.position, layout.seed):
            raise JournalDamagedError(
                f"{path} is damaged at byte {start.position + found.end} (append {found.next_offset}), "
                f"and appends after it are whole",
                "restore the journal from a copy; nothing was removed",
            )
        os.ftruncate(file, start.position + found.end)
        os.fsync(file)
    finally:
        os.close(file)
    indexed = _reindex(layout, start, found)
    mark = Mark(
        before.generation + (found.next_offset < before.next_offset),
        start.segment,
        start.position + found.end,
        found.next_offset,
        found.timestamp,
        indexed,
        start.before,
    )
    write_mark(layout.tail, WRITTEN, mark)
    write_mark(layout.tail, DURABLE, mark)
    return mark


def _known_durable(layout: Layout) -> tuple[Mark, Mark]:
    """The last durable mark to trust in the newest segment (or that segment's start), and the end of what was written.

    An appender that wrote before the crash and waits for its fsync must learn whether its frames are still there.
    """
    written, durable = read_mark(layout.tail, WRITTEN), read_mark(layout.tail, DURABLE)
    newest = layout.manifest.last()
    start = durable
    if start is None or start.segment != newest.base:
        start = Mark(0, newest.base, 0, newest.base, newest.last_timestamp_before, 0, newest.bytes_before)
    return start, written or durable or start


def _reindex(layout: Layout, start: Mark, found: Found) -> int:
    """Rewrites the segment's index with what is surely right; returns the last indexed position."""
    entries = read_index(layout.directory, start.segment)
    kept = entries[entries["position"] <= start.position]
    indexed = int(kept["position"][-1])
    added: list[tuple[int, int]] = []
    for offset, at in found.frames:
        position = start.position + at
        if position - indexed >= INDEX_BYTES:
            added.append((offset, position))
            indexed = position
    rewrite_index(layout.directory, start.segment, np.concatenate([kept[1:], np.array(added, kept.dtype)]))
    return indexed
