"""Which offsets an epoch reads, and what a crash left to be repeated (design: "Nothing lost, nothing counted twice").

A plan is a function of where the shards stand and how far there is something to read. It is written down before its
epoch runs; an epoch that some shard lacks is run again from what was written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from chronicle.definitions import Definition
from chronicle.errors import ChronicleError
from streaming.ranges import Offsets
from streaming.source import OffsetsGoneError
from views.kernel.in_process import CORRECTS
from views.state import EpochPlan, Meta, Slot, SlotPlan, SlotStanding, Standing, State

DEFINITION = "definition"
"""In a plan's `extra`: what the definition meant when the epoch was begun."""


def meaning(definition: Definition) -> str:
    """A hash of everything in a definition that decides what an epoch does."""
    parts = {"chronicles", "relations", "calendars", "views", "max_skew"}
    return hashlib.sha256(definition.model_dump_json(include=parts, warnings=False).encode()).hexdigest()[:16]


def to_repeat(state: State) -> EpochPlan | None:
    """The epoch that was written down and that some shard does not have; None where all are at the same one."""
    epochs = {standing.epoch for standing in state.standings()}
    planned = state.epochs.latest()
    if planned is None and len(epochs) == 1:
        return None  # the plans are lost, and none of them is needed: every shard has the same epochs
    last = planned.epoch if planned else 0
    if not epochs <= {last - 1, last}:
        raise ChronicleError(
            f"the shards of {state.directory} stand at epochs {_listed(epochs)}, and the last one planned is {last}",
            "this state cannot be continued exactly: restore the whole of it from one backup",
        )
    return None if epochs == {last} else planned


def settle_definition(state: State, means: str) -> None:
    """An epoch that was begun with another definition: one that no shard has is planned anew, one that some have has to
    be finished with the definition that it was begun with."""
    planned = to_repeat(state)
    if planned is None or planned.extra.get(DEFINITION, means) == means:
        return
    ahead = [shard for shard, standing in enumerate(state.standings()) if standing.epoch == planned.epoch]
    if ahead:
        raise ChronicleError(
            f"epoch {planned.epoch} began with another definition, and {len(ahead)} of {state.shards} shards took it",
            "put the definition back as it was and run once; then change it",
        )
    state.epochs.withdraw(planned)


def _listed(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def next_plan(
    meta: Meta,
    standing: Standing,
    starts: Offsets,
    ends: Offsets,
    idle: Collection[Slot] = (),
    *,
    corrects: bool = False,
    means: str = "",
) -> EpochPlan:
    """The epoch after `standing` that reads up to `ends`. A slot that is new starts at `starts` and at the group's
    clock; an idle one is advanced to the group's clock by its place in the plan. `corrects`: changes from the past are
    taken where their relation says so, because all of the chronicle is retained. `means`: see `meaning`."""
    slots: list[SlotPlan] = []
    for number, slot in enumerate(meta.slots):
        at = standing.slots.get(number) or SlotStanding(starts.get(slot, 0), standing.clock)
        clock = standing.clock if slot in idle else at.clock
        end = max(ends.get(slot, at.next_offset), at.next_offset)
        slots.append(SlotPlan(number, at.next_offset, end, at.next_offset, clock))
    return EpochPlan(standing.epoch + 1, tuple(slots), {CORRECTS: corrects, DEFINITION: means})


def consumed(meta: Meta, standing: Standing) -> dict[Slot, int]:
    """The next offset of every slot that the ledger knows."""
    return {meta.slots[number]: at.next_offset for number, at in standing.slots.items()}


def appends_in(plan: EpochPlan) -> int:
    """Offsets that the plan covers; a topic with gaps holds fewer appends."""
    return sum(slot.end - slot.start for slot in plan.slots)


def offsets_gone(lost: Mapping[Slot, tuple[int, int]]) -> ChronicleError:
    """The source and the ledger do not fit: appends that no view has seen are gone, or offsets went back."""
    ranges = sorted((f"{slot.topic}-{slot.partition}", first, last - 1) for slot, (first, last) in lost.items())
    missing = "; ".join(f"{name}: offsets {first} to {last}" for name, first, last in ranges)
    return OffsetsGoneError(
        f"the source no longer has what the ledger counts on: {missing}",
        "restore the appends (or the topic) and run again; or go on without them in a new state, with --state",
    )
