"""Followers hold the reference's rows and ledger, whenever they look, wherever they begin, whatever is compacted."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from delta_cases import DeltaJob, delta_project, views_of
from generators import Scenario, scenarios
from generators.kernels import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st

from views.reference import evaluate
from views.replica import compact

_cuts = st.sets(st.integers(1, 24), max_size=4)
_shards = st.sampled_from([1, 2, 3])


@settings(max_examples=15)
@given(
    scenario=scenarios(correct=True), cuts=_cuts, shards=_shards, looks=st.sets(st.integers(0, 4)), late=st.booleans()
)
def test_an_index_is_the_reference_wherever_it_begins_and_whenever_it_looks(
    scenario: Scenario, cuts: set[int], shards: int, looks: set[int], late: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = delta_project(scenario, Path(directory), shards)
        job = DeltaJob(project, scenario.records)
        steady = job.follow_into(Path(directory, "steady"))
        places = sorted({0, *(cut for cut in cuts if cut < len(scenario.records)), len(scenario.records)})
        for number, (first, last) in enumerate(pairwise(places)):
            job.epoch(first, last)
            if number in looks:
                steady.catch_up()
            elif late:
                compact(job.home, job.plan)
        steady.catch_up()
        begun = job.follow_into(Path(directory, "begun"))
        begun.catch_up()
        expected = evaluate(project.definition, project.check().admitted, scenario.records)
        for index in (job.follower.index, steady.index, begun.index):
            views = views_of(project, index)
            try:
                assert_same(views, expected)
            finally:
                views.state.close()
