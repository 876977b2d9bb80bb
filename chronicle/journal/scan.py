"""Walking the frames of a run of bytes; the one loop over frames, used by reading and by recovery."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from chronicle.journal.frames import CHECKED_BYTES, HEADER, HEADER_BYTES, MAGIC, MORE

Frame = tuple[int, int, int, int, int, int, int]
"""start in the buffer, length, flags, base offset, count, timestamp, bytes of shared headers"""


def frame_at(view: memoryview, at: int, seed: int) -> Frame | None:
    """The frame that begins at `at`, or None where there is no whole and valid one."""
    if at + HEADER_BYTES > len(view):
        return None
    magic, flags, length, base, count, checksum, timestamp, _, shared, own = HEADER.unpack_from(view, at)
    if magic != MAGIC or zlib.crc32(view[at : at + CHECKED_BYTES], seed) != own:
        return None
    if at + length > len(view) or zlib.crc32(view[at + HEADER_BYTES : at + length], seed) != checksum:
        return None
    return at, length, flags, base, count, timestamp, shared


def header_at(view: memoryview, at: int, seed: int) -> tuple[int, int, int] | None:
    """Base offset, count and length of a frame whose header is whole and valid, its payload unread."""
    if at + HEADER_BYTES > len(view):
        return None
    magic, _, length, base, count, _, _, _, _, own = HEADER.unpack_from(view, at)
    if magic != MAGIC or zlib.crc32(view[at : at + CHECKED_BYTES], seed) != own:
        return None
    return base, count, length


@dataclass(frozen=True, slots=True)
class Found:
    """The whole batches at the start of a run of bytes: where they end, and where each frame begins."""

    end: int
    next_offset: int
    timestamp: int
    frames: tuple[tuple[int, int], ...]
    """(base offset, start) of each"""


def whole_batches(view: memoryview, seed: int, next_offset: int, timestamp: int) -> Found:
    """The batches that follow on from `next_offset`, up to the first that is torn or incomplete."""
    at, offset, clock = 0, next_offset, timestamp
    pending: list[tuple[int, int]] = []
    whole: list[tuple[int, int]] = []
    end, whole_offset, whole_clock = 0, next_offset, timestamp
    while (frame := frame_at(view, at, seed)) is not None and frame[3] == offset:
        pending.append((offset, at))
        _, length, flags, _, count, clock, _ = frame
        at += length
        offset += count
        if not flags & MORE:
            whole += pending
            pending = []
            end, whole_offset, whole_clock = at, offset, clock
    return Found(end, whole_offset, whole_clock, tuple(whole))


def durable_beyond(view: memoryview, start: int, file_position: int, seed: int) -> bool:
    """Whether a frame after `start` says that the bytes at `start` had been made durable before it was written.

    Then these bytes are damaged rather than torn, and cutting them off would lose acknowledged appends.
    """
    blob = bytes(view[start + 1 :])
    at = blob.find(MAGIC)
    while at >= 0:
        if header_at(view, start + 1 + at, seed) is not None:
            durable = HEADER.unpack_from(view, start + 1 + at)[7]
            if durable > file_position + start:
                return True
        at = blob.find(MAGIC, at + 1)
    return False
