"""How far a shard has come: epoch, per slot the next offset and the clock, and the ledger's counts.

Every shard keeps the whole of it, written in the transaction of its rows, so that one read transaction answers a row
and what it reflects together. All shards agree on it once an epoch is complete.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import orjson

FATES = ("applied", "duplicate", "late", "future", "retroactive", "malformed")

_HEAD = struct.Struct("<QqH")
_SLOT = struct.Struct("<Hqq")
_NO_CLOCK = -(1 << 63)


@dataclass(frozen=True, slots=True)
class SlotStanding:
    """`next_offset` is the high water: every append below it has its fate. `clock` is None until one was admitted."""

    next_offset: int
    clock: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """`committed_at` is the wall time of the commit, microseconds UTC: what `age_ms` counts from."""

    epoch: int
    committed_at: int
    slots: Mapping[int, SlotStanding]
    clock: int | None = field(init=False, repr=False, compare=False)
    """The group's: the largest of its slots'."""
    least_clock: int | None = field(init=False, repr=False, compare=False)
    """What the state of a period goes by; None as long as some slot has admitted nothing."""

    def __post_init__(self) -> None:
        known = [slot.clock for slot in self.slots.values() if slot.clock is not None]
        object.__setattr__(self, "clock", max(known, default=None))
        object.__setattr__(self, "least_clock", min(known) if known and len(known) == len(self.slots) else None)

    def reflects(self, slot: int, offset: int) -> bool:
        """Whether the append has its fate, and its rows their share of it."""
        at = self.slots.get(slot)
        return at is not None and offset < at.next_offset


NOTHING = Standing(0, 0, {})
"""The standing of a new shard: epochs count from 1."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an epoch did beside rows, the same for every shard.

    `slots`: where every slot of the group stands after it (all slots, also those that had nothing to read).
    `fates`: slot -> fate -> how many appends got it in this epoch.
    `counters`: further counts of the ledger, such as `unmatched:VIEW:RELATION` for tuples that joined no version.
    """

    slots: Mapping[int, SlotStanding]
    fates: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)


def encode_standing(standing: Standing) -> bytes:
    parts = [_HEAD.pack(standing.epoch, standing.committed_at, len(standing.slots))]
    for slot, at in sorted(standing.slots.items()):
        parts.append(_SLOT.pack(slot, at.next_offset, _NO_CLOCK if at.clock is None else at.clock))
    return b"".join(parts)


@lru_cache(maxsize=256)
@lru_cache(maxsize=64)
def decode_standing(value: bytes) -> Standing:
    """Kept, since every lookup between two epochs reads the same."""
    epoch, committed_at, count = _HEAD.unpack_from(value)
    slots = {}
    for index in range(count):
        slot, offset, clock = _SLOT.unpack_from(value, _HEAD.size + index * _SLOT.size)
        slots[slot] = SlotStanding(offset, None if clock == _NO_CLOCK else clock)
    return Standing(epoch, committed_at, slots)


@dataclass(frozen=True, slots=True)
class Tally:
    """The ledger's counts so far: fates by slot, further counters, rows by view id."""

    fates: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[int, int] = field(default_factory=dict)

    def total(self) -> dict[str, int]:
        """Appends by fate over all slots; every fate is there, also with 0."""
        total = dict.fromkeys(FATES, 0)
        for fates in self.fates.values():
            for fate, count in fates.items():
                total[fate] += count
        return total


def encode_tally(tally: Tally) -> bytes:
    return orjson.dumps(
        {"fates": tally.fates, "counters": tally.counters, "rows": tally.rows}, option=orjson.OPT_NON_STR_KEYS
    )


def decode_tally(value: bytes) -> Tally:
    read = orjson.loads(value)
    return Tally(
        {int(slot): fates for slot, fates in read["fates"].items()},
        read["counters"],
        {int(view): rows for view, rows in read["rows"].items()},
    )


def add_outcome(tally: Tally, outcome: Outcome, added_rows: Mapping[int, int]) -> Tally:
    fates = {slot: dict(counts) for slot, counts in tally.fates.items()}
    for slot, counts in outcome.fates.items():
        _add(fates.setdefault(slot, {}), counts)
    counters = dict(tally.counters)
    _add(counters, outcome.counters)
    rows = dict(tally.rows)
    for view, count in added_rows.items():
        rows[view] = rows.get(view, 0) + count
    return Tally(fates, counters, rows)


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
