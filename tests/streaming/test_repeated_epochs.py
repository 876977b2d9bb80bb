"""An epoch that a crash left on some shards only is run again, and leaves what it would have left at once."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from engine_cases import DEEP
from generators import Scenario, scenarios
from generators.kernels import assert_same, messages_of, project_of
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.project import Project
from streaming.planning import next_plan, to_repeat
from streaming.run import plan_of
from streaming.source import JOURNAL
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import ranges_of, run_epoch
from views.kernel.map import MapKernel, SlotRange
from views.lookup import Views, connect
from views.reference import evaluate
from views.state import State


def _run_with_crashes(project: Project, scenario: Scenario, cuts: set[int], shards: int, draw: st.DataObject) -> Views:
    plan = plan_of(project)
    state = State.prepare(
        project.state_dir,
        "drawn",
        plan.view_layouts,
        plan.relation_layouts,
        shards=shards,
        tzdata="test",
        topics={"journal": 1},
        map_size=1 << 24,
    )

    def read(part: SlotRange) -> pa.Table:
        return messages_of(scenario.records[part.start : part.end])

    for _, last in pairwise(sorted({0, *cuts, len(scenario.records)})):
        epoch = next_plan(state.meta, state.shard(0).standing(), {}, {JOURNAL: last})
        state.epochs.write(epoch)
        kernel = MapKernel(plan, state)
        results = [kernel.map(part, read(part)) for part in ranges_of(epoch)]
        outcome, apart = outcome_of(epoch, results), [result.of_shards(shards) for result in results]
        for shard in draw.draw(
            st.sets(st.integers(0, shards - 1), max_size=shards - 1), label="shards before the crash"
        ):
            fold(plan, state, shard, epoch, outcome, [shares[shard] for shares in apart])
        assert to_repeat(state) == epoch
        run_epoch(plan, state, MapKernel(plan, state), epoch, read)
        assert to_repeat(state) is None
    state.close()
    return connect(project)


@settings(max_examples=2000 if DEEP else 30)
@given(scenario=scenarios(), cuts=st.sets(st.integers(1, 24), max_size=3), shards=st.integers(2, 7), draw=st.data())
def test_an_epoch_that_some_shards_have_is_repeated_exactly(
    scenario: Scenario, cuts: set[int], shards: int, draw: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        within = {cut for cut in cuts if cut < len(scenario.records)}
        views = _run_with_crashes(project, scenario, within, shards, draw)
        try:
            assert_same(views, evaluate(project.definition, project.check().admitted, scenario.records))
        finally:
            views.state.close()
