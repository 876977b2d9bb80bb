"""Groups of several slots: each slot knows the others as the last epoch left them, also when an epoch is repeated."""

from __future__ import annotations

import tempfile
from pathlib import Path

from generators import scenarios
from generators.kernels import assert_same, project_of, run_kernels
from generators.spreading import spreads
from hypothesis import given, settings
from hypothesis import strategies as st

from views.reference import evaluate


@settings(max_examples=40)
@given(data=st.data(), slots=st.integers(2, 4), shards=st.sampled_from([1, 3]))
def test_kernels_are_the_reference_for_appends_spread_over_slots(data: st.DataObject, slots: int, shards: int) -> None:
    scenario = data.draw(scenarios())
    spread = data.draw(spreads(scenario.records, slots=slots))
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        expected = evaluate(project.definition, project.check().admitted, spread.records, spread.cuts)
        views = run_kernels(project, spread.records, spread.cuts, shards)
        try:
            assert_same(views, expected)
        finally:
            views.state.close()
