"""A range that is mapped in parts side by side leaves what it leaves mapped whole."""

from __future__ import annotations

import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from generators import Scenario, scenarios
from generators.kernels import messages_of, project_of
from hypothesis import given, settings
from hypothesis import strategies as st

from views.kernel.map import MapKernel, SlotRange
from views.kernel.partials import SlotResult
from views.kernel.relay import FileRelay
from views.plan import GroupPlan, plan_group
from views.state import State


def _kernel(plan: GroupPlan, directory: Path) -> MapKernel:
    state = State.prepare(
        directory,
        "drawn",
        plan.view_layouts,
        plan.relation_layouts,
        shards=1,
        tzdata="test",
        topics={"journal": 1},
        map_size=1 << 24,
    )
    return MapKernel(plan, state)


def _ledger(results: list[SlotResult]) -> tuple[int | None, dict[str, int], list[tuple[int, str, str | None]]]:
    """The clock, the fates and the refusals of a range, whole or in parts."""
    clocks = [result.clock for result in results if result.clock is not None]
    fates: Counter[str] = Counter()
    for result in results:
        fates.update(result.fates)
    refused = [(each.sn, each.fate, each.view) for result in results for each in result.quarantine]
    return max(clocks, default=None), dict(fates), sorted(refused, key=repr)


@settings(max_examples=30)
@given(scenario=scenarios(), cuts=st.sets(st.integers(1, 24), max_size=3))
def test_parts_side_by_side_judge_every_append_as_the_whole_does(scenario: Scenario, cuts: set[int]) -> None:
    records = scenario.records
    edges = sorted({0, len(records), *(cut for cut in cuts if cut < len(records))})
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        plan = plan_group(project.definition, project.check().admitted.values())
        plan = plan.only([view.name for view in plan.views if not view.relations])
        whole = SlotRange(0, 0, len(records), 0, None)
        expected = _kernel(plan, Path(directory, "whole")).map(whole, messages_of(records))
        (Path(directory) / "relay").mkdir()
        parts = [replace(whole, start=start, end=end) for start, end in pairwise(edges)]
        kernels = [_kernel(plan, Path(directory, f"part{number}")) for number in range(len(parts))]

        def mapped(number: int) -> SlotResult:
            part = parts[number]
            relay = FileRelay(Path(directory, "relay"), 1, 0, number)
            return kernels[number].map(part, messages_of(records[part.start : part.end]), relay)

        with ThreadPoolExecutor(len(parts)) as side_by_side:
            results = list(side_by_side.map(mapped, range(len(parts))))
        assert _ledger(results) == _ledger([expected])
        for kernel in kernels:
            assert isinstance(kernel.stored, State)
            kernel.stored.close()
