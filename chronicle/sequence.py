"""Sequence numbers (chronicle-data-model §2.1): `sn = (offset << 12) | slot`.

A slot numbers the topic-partitions of a group (the journal is one slot, 0). Within a slot sequence numbers grow; the
registry of slots is part of the state.
"""

from __future__ import annotations

SLOT_BITS = 12
MAX_SLOTS = 1 << SLOT_BITS


def sequence_number(offset: int, slot: int) -> int:
    if not 0 <= slot < MAX_SLOTS:
        raise ValueError(f"a group has slots 0 to {MAX_SLOTS - 1}, not {slot}")
    return (offset << SLOT_BITS) | slot


def slot_of(sn: int) -> int:
    return sn & (MAX_SLOTS - 1)


def offset_of(sn: int) -> int:
    return sn >> SLOT_BITS
