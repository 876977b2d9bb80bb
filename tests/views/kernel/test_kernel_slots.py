"""Groups of several slots: each slot knows the others as the last epoch left them, also when an epoch is repeated."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from generators import scenarios
from generators.kernels import assert_same, messages_of, project_of
from generators.spreading import Spread, spreads
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.project import Project
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import ranges_of, run_epoch
from views.kernel.map import MapKernel, SlotRange
from views.lookup import Views, connect
from views.plan import plan_group
from views.reference import Record, evaluate
from views.state import EpochPlan, SlotPlan, State

NOON = 1_772_366_400_000_000
"""2026-03-01T12:00:00Z"""


def run_spread(
    project: Project, spread: Spread, slots: int, shards: int, torn: Collection[int] = (), *, held: bool = False
) -> Views:
    """Runs every epoch; before it is run as a whole, a first attempt of it reaches the shards `torn` only. With `held`,
    each map has the versions in memory that are there when it begins."""
    plan = plan_group(project.definition, project.check().admitted.values())
    state = State.prepare(
        project.state_dir,
        project.definition.name,
        plan.view_layouts,
        plan.relation_layouts,
        shards=shards,
        tzdata="test",
        topics={"calls": slots},
        map_size=1 << 24,
    )
    for epoch, records in enumerate(spread.epochs, start=1):
        before = state.shard(0).standing()
        own = {slot: [record for record in records if record.slot == slot] for slot in range(slots)}
        parts = []
        for slot, its in own.items():
            at = before.slots.get(slot)
            start, clock = (at.next_offset, at.clock) if at else (0, before.clock)
            parts.append(SlotPlan(slot, start, start + len(its), start, clock))
        planned = EpochPlan(epoch, tuple(parts))

        def read(part: SlotRange, own: dict[int, list[Record]] = own) -> pa.Table:
            return messages_of(own[part.slot])

        def kernel() -> MapKernel:
            return MapKernel(plan, state.held_versions(plan.relations) if held else state)

        first = [kernel().map(part, read(part)) for part in ranges_of(planned)]
        for shard in torn:
            mine = [result.of_shards(shards)[shard] for result in first]
            fold(plan, state, shard, planned, outcome_of(planned, first), mine)
        run_epoch(plan, state, kernel(), planned, read)
    state.close()
    return connect(project)


def assert_reference(
    project: Project, spread: Spread, slots: int, shards: int, torn: Collection[int] = (), *, held: bool = False
) -> None:
    expected = evaluate(project.definition, project.check().admitted, spread.records, spread.cuts)
    views = run_spread(project, spread, slots, shards, torn, held=held)
    try:
        assert_same(views, expected)
    finally:
        views.state.close()


@settings(max_examples=20)
@given(data=st.data(), slots=st.integers(2, 4), shards=st.sampled_from([1, 3]), held=st.booleans())
def test_kernels_are_the_reference_for_appends_spread_over_slots(
    data: st.DataObject, slots: int, shards: int, held: bool
) -> None:
    scenario = data.draw(scenarios())
    spread = data.draw(spreads(scenario.records, slots=slots))
    torn = data.draw(st.sets(st.integers(0, shards - 1), max_size=shards - 1))
    with tempfile.TemporaryDirectory() as directory:
        assert_reference(project_of(scenario.text, Path(directory)), spread, slots, shards, torn, held=held)


DEFINITION = {
    "chronicle": 1,
    "name": "g",
    "chronicles": {"calls": {"columns": {"caller": "string", "at": "timestamp"}, "chronon": "at"}},
    "relations": {"customers": {"key": "number", "columns": {"number": "string", "state": "string"}}},
    "views": {
        "states": {
            "from": "calls",
            "join": {"customers": "caller = number"},
            "group_by": "customers.state",
            "select": {"calls": "count(*)"},
        }
    },
}


def _change(state: str) -> bytes:
    return json.dumps({"customers": [{"number": "c", "state": state, "_from": "2026-03-01T10:00:00Z"}]}).encode()


_CALL = b'{"caller": "c", "at": "2026-03-01T11:00:00Z"}'


def _spread(*epochs: list[tuple[int, bytes]]) -> Spread:
    """Slots and values, epoch by epoch."""
    spread, nexts = [], [0, 0]
    for epoch in epochs:
        records = []
        for slot, value in epoch:
            records.append(Record(slot, nexts[slot], NOON, None, (), value))
            nexts[slot] += 1
        spread.append(tuple(records))
    return Spread(tuple(spread))


CASES = {
    "a change that only the epoch itself brought": _spread([(0, b"{"), (1, b"{")], [(0, _change("NJ")), (1, _CALL)]),
    "a change that replaced another of the same instant": _spread(
        [(0, _change("NJ")), (1, b"{")], [(0, _change("NY")), (0, _change("CT")), (1, _CALL)], [(1, _CALL)]
    ),
    "the slot's own change over another's with a larger number": _spread(
        [(0, b"{"), (0, b"{"), (0, b"{"), (0, _change("NJ")), (1, b"{")], [(1, _change("NY")), (1, _CALL)], [(0, _CALL)]
    ),
}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_what_a_slot_joins_is_the_reference_however_often_its_epoch_is_begun(
    tmp_path: Path, case: str, shards: int, held: bool
) -> None:
    for number, torn in enumerate([[], *([shard] for shard in range(shards))]):
        project = project_of(yaml.safe_dump(DEFINITION), tmp_path / str(number))
        assert_reference(project, CASES[case], 2, shards, torn, held=held)
