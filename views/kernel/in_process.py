"""A whole epoch in this process: maps, then folds. What a small epoch runs as in one Spark task, and what tests run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from views.kernel.fold import fold, outcome_of
from views.kernel.map import MapKernel, SlotRange
from views.kernel.partials import SlotResult
from views.plan import GroupPlan
from views.state import EpochPlan, Slot, State

CORRECTS = "corrects"
"""In a plan's `extra`: whether the epoch takes changes from the past."""

_COMMITS = 8

Read = Callable[[SlotRange], pa.Table]


def ranges_of(epoch: EpochPlan, slots: Sequence[Slot] = ()) -> list[SlotRange]:
    """What there is to map: the parts of the `slots` that got something, each with what it knows of the others."""
    known = {slot.slot: slot.high_water for slot in epoch.slots}
    beside = sum(slot.end > slot.start for slot in epoch.slots) > 1
    return [
        SlotRange(
            slot.slot,
            slot.start,
            slot.end,
            slot.high_water,
            slot.clock,
            _others(epoch, slot.slot),
            bool(epoch.extra.get(CORRECTS)),
            slots[slot.slot] if slots else None,
            known,
            beside,
        )
        for slot in epoch.slots
        if slot.end > slot.start
    ]


def _others(epoch: EpochPlan, own: int) -> int | None:
    clocks = [slot.clock for slot in epoch.slots if slot.slot != own and slot.clock is not None]
    return max(clocks, default=None)


def run_epoch(plan: GroupPlan, state: State, kernel: MapKernel, epoch: EpochPlan, read: Read) -> list[SlotResult]:
    """Maps what `read` gives for each range and folds it into every shard."""
    results = [kernel.map(part, read(part)) for part in ranges_of(epoch, state.meta.slots)]
    fold_all(plan, state, epoch, results)
    return results


def fold_all(plan: GroupPlan, state: State, epoch: EpochPlan, results: Sequence[SlotResult]) -> None:
    """Folds the results of all maps into every shard; the shards' commits wait for the disk side by side."""
    outcome = outcome_of(epoch, results)
    apart = [result.of_shards(state.shards) for result in results]

    def into(shard: int) -> None:
        fold(plan, state, shard, epoch, outcome, [shares[shard] for shares in apart])

    with ThreadPoolExecutor(min(state.shards, _COMMITS)) as side_by_side:
        list(side_by_side.map(into, range(state.shards)))
