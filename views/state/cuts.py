"""Where epochs were cut, as far as it decides anything: `cuts.jsonl`, for states whose source is Kafka.

What a slot knows of the others is what the last epoch left, so appends alone do not say what came of them: an epoch
with relation changes, one that brought slots in, and one that moved an idle slot's clock are noted here with their
plan. Between two of these, epochs may be taken as one. With them the chronicle can be gone through again exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from chronicle.errors import ChronicleError
from views.state.durable import sync_directory
from views.state.epochs import EpochPlan, SlotPlan
from views.state.standing import Tally

CHANGES = "changes:"
"""Counters of the ledger that begin so count the relation changes that were judged, in groups of several slots."""


def changes_in(tally: Tally) -> int:
    return sum(count for name, count in tally.counters.items() if name.startswith(CHANGES))


@dataclass(frozen=True, slots=True)
class Cut:
    """An epoch's plan, and how many changes the ledger had counted when it was over (or, of one that had none, when it
    began)."""

    epoch: int
    changes: int
    slots: tuple[SlotPlan, ...]

    @property
    def starts(self) -> dict[int, int]:
        return {slot.slot: slot.start for slot in self.slots}


class CutLog:
    """The file of a state. Only the job that holds the writer's lock adds to it, a line at a time, durably."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "cuts.jsonl"

    def exists(self) -> bool:
        return self.path.exists()

    def create(self) -> None:
        self.path.touch()
        sync_directory(self.path.parent)

    def cuts(self) -> list[Cut]:
        """In the order of their epochs; of one that was noted twice the later note. A line that a crash has torn was
        never relied on."""
        if not self.path.exists():
            raise ChronicleError(
                f"{self.path} is gone: how slots stood to each other is not known", "restore it from a backup"
            )
        whole, _, _ = self.path.read_bytes().rpartition(b"\n")
        found: dict[int, Cut] = {}
        for line in whole.splitlines():
            epoch, changes, slots = orjson.loads(line)
            found[epoch] = Cut(
                epoch, changes, tuple(SlotPlan(slot, start, end, start, clock) for slot, start, end, clock in slots)
            )
        return [found[epoch] for epoch in sorted(found)]

    def add(self, plan: EpochPlan, changes: int) -> None:
        slots = [[slot.slot, slot.start, slot.end, slot.clock] for slot in plan.slots]
        with self.path.open("r+b") as file:
            whole = file.read().rpartition(b"\n")
            file.truncate(len(whole[0]) + len(whole[1]))
            file.seek(0, os.SEEK_END)
            file.write(orjson.dumps([plan.epoch, changes, slots]) + b"\n")
            file.flush()
            os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets [start, end) by slot that were read with the same knowledge of other slots. `clocks` are those before it,
    where it is an epoch that was noted; `changed`: whether relation changes were judged in it."""

    ranges: Mapping[int, tuple[int, int]]
    clocks: Mapping[int, int | None] | None = None
    changed: bool = False


def stretches(cuts: Sequence[Cut], ends: Mapping[int, int]) -> Iterator[Stretch]:
    """Everything that was read up to `ends`, in order: the epochs that were noted, and what lies between them."""
    at: dict[int, int] = {}
    changes = 0
    for cut in cuts:
        between = {slot: (at[slot], start) for slot, start in cut.starts.items() if at.get(slot, start) < start}
        if between:
            yield Stretch(between)
        ranges = {slot.slot: (slot.start, slot.end) for slot in cut.slots if slot.end > slot.start}
        yield Stretch(ranges, {slot.slot: slot.clock for slot in cut.slots}, cut.changes > changes)
        at |= {slot.slot: slot.end for slot in cut.slots}
        changes = cut.changes
    rest = {slot: (at.get(slot, 0), end) for slot, end in ends.items() if at.get(slot, 0) < end}
    if rest:
        yield Stretch(rest)
