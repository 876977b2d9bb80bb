"""The journal's tail: two marks in one small file, so that the next offset is one pread whatever the journal's length.

`WRITTEN` is where the next frame goes (kept under the write lock), `DURABLE` what fsync has confirmed (kept under the
sync lock) and all that a reader may see. The file is never fsynced: it is written after the segment's fsync, so on
disk it can only be behind, and recovery reads the frames behind it.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from dataclasses import dataclass

WRITTEN = 0
DURABLE = 128

_MARK = struct.Struct("<4s4xqqqqqqqI4x")
_MAGIC = b"CHM1"
_CHECKED_BYTES = _MARK.size - 8
_ATTEMPTS = 200


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the journal."""

    generation: int
    """Grows when frames are taken back (a failed fsync, a torn tail): a waiting appender sees that its own are gone."""
    segment: int
    position: int
    next_offset: int
    timestamp: int
    indexed: int
    """The last position in this segment that has an index entry."""
    before: int
    """Bytes in all segments ever made before this one."""


def write_mark(tail: int, where: int, mark: Mark) -> None:
    body = _MARK.pack(
        _MAGIC,
        mark.generation,
        mark.segment,
        mark.position,
        mark.next_offset,
        mark.timestamp,
        mark.indexed,
        mark.before,
        0,
    )[:_CHECKED_BYTES]
    os.pwrite(tail, body + zlib.crc32(body).to_bytes(4, "little"), where)


def read_mark(tail: int, where: int) -> Mark | None:
    """The mark, or None where there is none to trust (a tail lost in a power cut)."""
    for attempt in range(_ATTEMPTS):
        blob = os.pread(tail, _CHECKED_BYTES + 4, where)
        if len(blob) < _CHECKED_BYTES + 4:
            return None
        if zlib.crc32(blob[:_CHECKED_BYTES]).to_bytes(4, "little") == blob[_CHECKED_BYTES:]:
            fields = _MARK.unpack(blob + bytes(4))
            return Mark(*fields[1:8]) if fields[0] == _MAGIC else None
        if attempt > 3:  # a write by another process may be half visible for a moment
            time.sleep(0.0002)
    return None
