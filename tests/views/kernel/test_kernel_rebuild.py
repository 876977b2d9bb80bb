"""Views built anew, for a retroactive change under `correct` or because they came later, are as if from the start."""

from __future__ import annotations

import tempfile
from pathlib import Path

from generators import Scenario, scenarios
from generators.kernels import assert_same_rows, project_of, run_kernels
from hypothesis import given, settings
from hypothesis import strategies as st

from views.reference import evaluate


@settings(max_examples=25)
@given(scenario=scenarios(correct=True), cuts=st.sets(st.integers(1, 24), max_size=3))
def test_corrected_views_are_those_that_had_always_known_the_change(scenario: Scenario, cuts: set[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        expected = evaluate(project.definition, project.check().admitted, scenario.records)
        views = run_kernels(project, scenario.records, {c for c in cuts if c < len(scenario.records)}, 2)
        try:
            assert_same_rows(views, expected)
        finally:
            views.state.close()
