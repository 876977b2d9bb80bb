"""Groups of several slots: with what the state keeps of its epochs, Spark SQL gives the reference's answer, or says for
which relations it cannot."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from generators import Scenario, scenarios
from generators.spreading import Spread, spreads
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from recomputing import answers

from views.algebra import RelationJoin
from views.algebra.traversal import nodes
from views.state import Cut, SlotPlan, Stretch, stretches

pytestmark = pytest.mark.spark

SLOTS = 3


def stretches_of(spread: Spread) -> list[Stretch]:
    """As a job would have noted the epochs of a spread."""
    at = dict.fromkeys(range(SLOTS), 0)
    cuts: list[Cut] = []
    for epoch, records in enumerate(spread.epochs, start=1):
        ends = at | {record.slot: record.offset + 1 for record in records}
        plans = tuple(SlotPlan(slot, at[slot], ends[slot], at[slot], None) for slot in at)
        cuts.append(Cut(epoch, epoch, plans))
        at = ends
    return list(stretches(cuts, at))


@settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_recomputed_rows_and_fates_of_several_slots_are_those_of_the_reference(
    spark: SparkSession, data: st.DataObject
) -> None:
    scenario: Scenario = data.draw(scenarios(max_views=3))
    spread = data.draw(spreads(scenario.records, slots=SLOTS))
    found = answers(spark, scenario.text, spread.records, spread.cuts, stretches_of(spread))
    unsure = {relation for relation, count in found.crossed.items() if count}
    joining = {
        name: {node.relation for node in nodes(view.summary.input) if isinstance(node, RelationJoin)}
        for name, view in found.views.items()
    }
    told = [text for text in found.differences() if not joining[text.split(":")[0]] & unsure]
    assert not told
    refused = Counter({f: n for f, n in sum(found.reference.fates.values(), Counter()).items() if f not in _JUDGED})
    assert {fate: count for fate, count in found.fates.items() if fate not in _JUDGED} == refused


_JUDGED = ("applied", "late")
"""Which of the two it is, a view says."""


def test_between_two_cuts_epochs_are_one_stretch_and_nothing_is_left_out() -> None:
    cuts = [
        Cut(1, 0, (SlotPlan(0, 5, 9, 5, None), SlotPlan(1, 0, 0, 0, None))),
        Cut(4, 2, (SlotPlan(0, 20, 20, 20, 7), SlotPlan(1, 3, 4, 3, 6))),
    ]
    found = list(stretches(cuts, {0: 22, 1: 4}))
    assert [dict(stretch.ranges) for stretch in found] == [
        {0: (5, 9)},
        {0: (9, 20), 1: (0, 3)},
        {1: (3, 4)},
        {0: (20, 22)},
    ]
    assert [stretch.changed for stretch in found] == [False, False, True, False]
    assert found[2].clocks == {0: 7, 1: 6}
    covered = [part for stretch in found for slot, part in stretch.ranges.items() if slot == 0]
    assert all(before[1] == after[0] for before, after in pairwise(covered))
