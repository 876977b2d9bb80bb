"""The kernels give the reference's rows and ledger, for any cut into epochs and any number of shards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from generators import Scenario, scenarios
from generators.kernels import assert_same, project_of, run_kernels
from hypothesis import given, settings
from hypothesis import strategies as st

from views.reference import evaluate


def _compare(scenario: Scenario, cuts: set[int], shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        expected = evaluate(project.definition, project.check().admitted, scenario.records)
        views = run_kernels(project, scenario.records, cuts, shards)
        try:
            assert_same(views, expected)
        finally:
            views.state.close()


@settings(max_examples=60)
@given(scenario=scenarios(), cuts=st.sets(st.integers(1, 24), max_size=4), shards=st.sampled_from([1, 2, 3, 7]))
def test_kernels_are_the_reference_for_any_cut_and_any_number_of_shards(
    scenario: Scenario, cuts: set[int], shards: int
) -> None:
    _compare(scenario, {cut for cut in cuts if cut < len(scenario.records)}, shards)
