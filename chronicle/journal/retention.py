"""Forgetting: old segments go as a whole, from the front, and never one that a consumer still needs."""

from __future__ import annotations

from chronicle.journal.layout import Layout
from chronicle.journal.segments import index_path, segment_path


def remove_before(layout: Layout, before: int, floor: int | None) -> int:
    """Removes segments whose last record is older than `before`; the caller holds the write lock.

    The manifest forgets them first, so that a crash in between leaves files that nobody reads, never an entry without
    its file.
    """
    segments = layout.manifest.all()
    gone = 0
    for following in segments[1:]:
        if following.last_timestamp_before >= before or (floor is not None and following.base > floor):
            break
        gone += 1
    if not gone:
        return 0
    layout.manifest.replace(segments[gone:])
    for segment in segments[:gone]:
        index_path(layout.directory, segment.base).unlink(missing_ok=True)
        segment_path(layout.directory, segment.base).unlink(missing_ok=True)
    return segments[gone].bytes_before - segments[0].bytes_before
