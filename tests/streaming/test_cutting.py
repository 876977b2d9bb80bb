"""Which epochs a state notes, beside a crash at any moment: those that decide what slots know of each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chronicle.errors import ChronicleError
from streaming.cutting import Cutting, cuts_of
from views.state import EpochPlan, Outcome, SlotPlan, SlotStanding, State


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    made = State.prepare(tmp_path, "g", (), (), shards=2, tzdata="test", topics={"t": 2}, map_size=1 << 20)
    yield made
    made.close()


def plan_of(state: State, *ends: int, clocks: tuple[int | None, ...] = ()) -> EpochPlan:
    """The next epoch, up to these offsets; `clocks` where they are not those of the ledger."""
    standing = state.shard(0).standing()
    slots = []
    for slot, end in enumerate(ends):
        at = standing.slots.get(slot, SlotStanding(0, None))
        slots.append(SlotPlan(slot, at.next_offset, end, at.next_offset, clocks[slot] if clocks else at.clock))
    return EpochPlan(standing.epoch + 1, tuple(slots))


def fold(state: State, plan: EpochPlan, changes: int) -> None:
    counted = {"changes:customers": changes} if changes else {}
    outcome = Outcome({slot.slot: SlotStanding(slot.end, slot.clock) for slot in plan.slots}, {}, counted)
    for shard in range(state.shards):
        state.shard(shard).write(plan.epoch, outcome, lambda transaction: None)


def run(state: State, cutting: Cutting, plan: EpochPlan, changes: int = 0, *, dies: bool = False) -> None:
    """As the job does it; one that dies does so after the fold."""
    cutting.settle(state)
    cutting.begin(plan, state.shard(0).standing())
    state.epochs.write(plan)
    fold(state, plan, changes)
    if not dies:
        cutting.settle(state)


def noted(state: State) -> list[int]:
    return [cut.epoch for cut in cuts_of(state)]


def test_the_first_epoch_and_those_with_changes_are_noted_and_no_others(state: State) -> None:
    cutting = Cutting.of(state)
    for ends, changes in [((1, 2), 0), ((3, 4), 0), ((5, 6), 2), ((7, 8), 0)]:
        run(state, cutting, plan_of(state, *ends), changes)
    assert noted(state) == [1, 3]
    assert cutting.starts == {0: 0, 1: 0}


@pytest.mark.parametrize("restarted", [False, True])
def test_an_epoch_with_changes_is_noted_although_the_job_died_right_after_it(state: State, restarted: bool) -> None:
    cutting = Cutting.of(state)
    run(state, cutting, plan_of(state, 1, 2))
    run(state, cutting, plan_of(state, 3, 4), 1, dies=True)
    if restarted:
        run(state, Cutting.of(state), plan_of(state, 5, 6))
    assert noted(state) == [1, 2]
    assert cuts_of(state)[-1].changes == 1


@pytest.mark.parametrize("other", [None, (4, 3)], ids=["without a plan", "with a plan that was not committed"])
def test_an_epoch_with_changes_whose_plan_is_on_a_dead_machine_is_missing_for_good(
    state: State, other: tuple[int, int] | None
) -> None:
    """Two machines, one table: the plan is in the index of the one that died between its commit and its note."""
    cutting = Cutting.of(state)
    run(state, cutting, plan_of(state, 1, 2))
    planned = plan_of(state, 3, 4)
    if other:
        state.epochs.write(plan_of(state, *other))
    else:
        (state.directory / "plans.json").unlink()
    fold(state, planned, 1)
    heir = Cutting.of(state)
    for end in (5, 6):
        run(state, heir, plan_of(state, end, end), 1)
    with pytest.raises(ChronicleError, match="lacks epochs"):
        cuts_of(state)
    assert (heir.starts, Cutting.of(state).starts) == ({}, {})


def test_an_idle_slot_is_noted_when_it_is_first_moved_and_when_it_goes_on(state: State) -> None:
    cutting = Cutting.of(state)
    run(state, cutting, plan_of(state, 1, 1, clocks=(5, 5)))
    for epoch in range(2, 6):
        run(state, cutting, plan_of(state, epoch, 1, clocks=(5, 5 + epoch)))
    run(state, Cutting.of(state), plan_of(state, 9, 4))
    run(state, cutting := Cutting.of(state), plan_of(state, 10, 5))
    assert noted(state) == [1, 2, 6]
    assert cuts_of(state)[-1].slots[1] == SlotPlan(1, 1, 4, 1, 10)


def test_a_line_that_a_crash_tore_is_as_if_it_had_not_been_begun(state: State) -> None:
    run(state, Cutting.of(state), plan_of(state, 1, 2))
    file = state.directory / "cuts.jsonl"
    file.write_bytes(file.read_bytes() + b"[2, 1, [[0, 1,")
    assert noted(state) == [1]
    run(state, Cutting.of(state), plan_of(state, 3, 4), 1)
    assert noted(state) == [1, 2]


@pytest.mark.parametrize("made_anew", [False, True])
def test_cuts_that_were_lost_are_missed_and_the_job_goes_on(state: State, made_anew: bool) -> None:
    run(state, Cutting.of(state), plan_of(state, 1, 2))
    run(state, Cutting.of(state), plan_of(state, 3, 4), 1)
    (state.directory / "cuts.jsonl").unlink()
    if made_anew:
        run(state, cutting := Cutting.of(state), plan_of(state, 5, 6), 1)
        assert not cutting.starts
    with pytest.raises(ChronicleError, match=r"cuts\.jsonl"):
        cuts_of(state)
