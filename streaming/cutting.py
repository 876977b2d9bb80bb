"""Which epochs are noted in a state's cuts, and when: see `views.state.cuts`.

Whether an epoch had relation changes is known when it is over, by the ledger's count of them; so it is noted after it,
and before the next is planned. A crash in between loses nothing: the plan is still written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chronicle.errors import ChronicleError
from views.state import LEDGER_SHARD, Cut, CutLog, EpochPlan, SlotPlan, Standing, State, changes_in


@dataclass(slots=True)
class Cutting:
    """The job's side of a state's cuts. `_waiting` are slots that were moved while idle, with the offset at which they
    stood: their clock is noted again with their next append."""

    log: CutLog
    _last: Cut
    _waiting: set[tuple[int, int]] = field(default_factory=set)
    starts: dict[int, int] = field(default_factory=dict)
    """Where each slot begins; empty where not all epochs are known."""

    @classmethod
    def of(cls, state: State) -> Cutting:
        if not state.cuts.exists():
            state.cuts.create()  # of a state that has lost it the first epoch stays missing, which `cuts_of` says
        cuts = state.cuts.cuts()
        stands = {(slot, at.next_offset) for slot, at in state.shard(LEDGER_SHARD).standing().slots.items()}
        waiting = {(slot.slot, slot.start) for cut in cuts for slot in cut.slots if slot.start == slot.end}
        starts = first_offsets(cuts) if is_whole(cuts) else {}
        return cls(state.cuts, cuts[-1] if cuts else Cut(0, 0, ()), waiting & stands, starts)

    def begin(self, plan: EpochPlan, standing: Standing) -> None:
        """Before the epoch: one that brings slots in, or in which an idle slot has another clock than its own appends
        gave it. Of a slot that stays idle the first such epoch is noted, and the one that ends it."""
        moved = {(slot.slot, slot.start) for slot in plan.slots if _is_moved(slot, standing)}
        ended = {(slot.slot, slot.start) for slot in plan.slots if slot.end > slot.start} & self._waiting
        replanned = self._last.epoch == plan.epoch and self._last.slots != plan.slots
        if replanned or ended or moved - self._waiting:
            self._note(plan, self._last.changes)
        self._waiting = (self._waiting | moved) - ended

    def settle(self, state: State) -> None:
        """After an epoch: one with relation changes. Of one that a job on another machine committed, and died, the plan
        went with that machine: it is noted as unknown, since those after it would hide that it is missing."""
        changes, standing = _counted(state), state.shard(LEDGER_SHARD).standing()
        if changes > self._last.changes:
            self._note(_plan_of(standing, state) or EpochPlan(standing.epoch, ()), changes)

    def _note(self, plan: EpochPlan, changes: int) -> None:
        self.log.add(plan, changes)
        self._last = Cut(plan.epoch, changes, plan.slots)
        if not plan.slots:
            self.starts = {}
        elif self.starts or plan.epoch == 1:
            self.starts = {**self._last.starts, **self.starts}


def is_whole(cuts: Sequence[Cut]) -> bool:
    """Whether the first epoch is among them, and none is unknown."""
    return (not cuts or cuts[0].epoch == 1) and all(cut.slots for cut in cuts)


def first_offsets(cuts: Sequence[Cut]) -> dict[int, int]:
    """By slot where the state began to read it."""
    return {slot: start for cut in reversed(cuts) for slot, start in cut.starts.items()}


def _is_moved(slot: SlotPlan, standing: Standing) -> bool:
    before = standing.slots.get(slot.slot)
    return before is None or before.clock != slot.clock


def _plan_of(standing: Standing, state: State) -> EpochPlan | None:
    """The plan of the epoch that the state stands at, where it is the one that was written down last here."""
    plan = state.epochs.latest()
    if plan is None or plan.epoch != standing.epoch:
        return None
    ends = {slot.slot: slot.end for slot in plan.slots}
    return plan if ends == {slot: at.next_offset for slot, at in standing.slots.items()} else None


def _counted(state: State) -> int:
    with state.shard(LEDGER_SHARD).read() as snapshot:
        return changes_in(snapshot.tally())


def cuts_of(state: State) -> list[Cut]:
    """All cuts up to where the state stands; ChronicleError where some are missing."""
    cuts, changes, standing = state.cuts.cuts(), _counted(state), state.shard(LEDGER_SHARD).standing()
    noted = [cut for cut in cuts if cut.epoch <= standing.epoch]
    if changes > (noted[-1].changes if noted else 0) and (plan := _plan_of(standing, state)) is not None:
        noted = [*(cut for cut in noted if cut.epoch < plan.epoch), Cut(plan.epoch, changes, plan.slots)]
    if standing.epoch and not (noted and is_whole(noted) and noted[-1].changes == changes):
        raise ChronicleError(
            f"{state.cuts.path} lacks epochs: how slots stood to each other is not known",
            "restore it from a backup of the same moment",
        )
    return noted
