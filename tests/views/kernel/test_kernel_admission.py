"""The kernel admits what the reference admits, at the same clocks, however the appends are cut into ranges."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from generators import Scenario, scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from message_cases import table_of_messages

from calendars import parse_duration
from chronicle.appends import Decoder
from chronicle.definitions import Definition, load_text
from chronicle.sequence import sequence_number
from chronicle.types import STRING, Column
from views.kernel.admission import NO_CLOCK, Admission, admit
from views.kernel.decode import decode_range
from views.kernel.decoded import AT, GONE, NO_CHRONON, PLACE, SINCE, Decoded
from views.plan import GroupPlan, RelationPlan, plan_group
from views.reference import Record
from views.reference.admission import admit as admit_by_reference
from views.state import RelationLayout

Policy = Literal["reject", "clamp", "correct"]


class _Kernel:
    """The slots of a group as epochs go by."""

    def __init__(self, plan: GroupPlan) -> None:
        self.plan = plan
        self.decoder = Decoder(plan.group)
        self.clocks: dict[int, int] = {}
        self.high_waters: dict[int, int] = {}
        self.refused: list[tuple[int, str]] = []
        self.admitted: list[tuple[int, int | None]] = []
        self.changes: list[tuple[int, str, int, dict[str, Any] | None]] = []

    def epoch(self, first: int, records: Sequence[Record]) -> None:
        before = dict(self.clocks)
        for slot in sorted({record.slot for record in records}):
            own = [(first + at, record) for at, record in enumerate(records) if record.slot == slot]
            others = max((clock for other, clock in before.items() if other != slot), default=NO_CLOCK)
            self._range(slot, own, before.get(slot, max(before.values(), default=NO_CLOCK)), others)

    def _range(self, slot: int, own: Sequence[tuple[int, Record]], clock: int, others: int) -> None:
        records = [record for _, record in own]
        duplicate = np.zeros(len(own), dtype=np.bool_)
        for at, record in enumerate(records):
            duplicate[at] = record.offset <= self.high_waters.get(slot, -1)
            self.high_waters[slot] = max(record.offset, self.high_waters.get(slot, -1))
        taken_at = np.array([record.timestamp for record in records], dtype=np.int64)
        messages = table_of_messages([((), record.value) for record in records])
        place = messages.schema.get_field_index("timestamp")
        messages = messages.set_column(place, messages.schema.field(place), pa.array(taken_at))
        decoded = decode_range(self.plan.group, self.decoder, messages)
        found = admit(decoded, taken_at, duplicate, self.plan.relations, self.plan.max_skew, clock, others)
        self.clocks[slot] = found.clock
        self._note(own, found)

    def _note(self, own: Sequence[tuple[int, Record]], found: Admission) -> None:
        for at, (_, record) in enumerate(own):
            sn = sequence_number(record.offset, record.slot)
            assert found.admitted[at] == (at not in found.refused)
            if at in found.refused:
                self.refused.append((sn, found.refused[at].fate))
            else:
                clock = int(found.clocks[at])
                self.admitted.append((sn, None if clock == NO_CLOCK else clock))
        for name, table in found.changes.items():
            for row in _rows(table):
                order, since, gone = own[row.pop(AT)][0], row.pop(SINCE), row.pop(GONE)
                row.pop(PLACE)
                self.changes.append((order, name, since, None if gone else row))


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    micros = [pa.field(each.name, pa.int64()) if pa.types.is_timestamp(each.type) else each for each in table.schema]
    ordered = table.sort_by([(AT, "ascending"), (PLACE, "ascending")])
    return ordered.cast(pa.schema(micros)).to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def _spread(records: Sequence[Record], slots: int, draw: random.Random) -> list[Record]:
    """The records over several slots, those that are delivered twice in the slot of the first delivery."""
    slot_of = {record.offset: draw.randrange(slots) for record in records}
    return [record._replace(slot=slot_of[record.offset]) for record in records]


def _definition(scenario: Scenario) -> Definition:
    definition = load_text(scenario.text).definition
    assert definition is not None
    return definition


@settings(max_examples=50)
@given(
    scenario=scenarios(max_views=1, duplicates=True, correct=True, max_records=40),
    slots=st.integers(1, 3),
    seed=st.integers(0, 1 << 32),
)
def test_fates_clocks_and_changes_are_those_of_the_reference(scenario: Scenario, slots: int, seed: int) -> None:
    definition, draw = _definition(scenario), random.Random(seed)
    records = _spread(scenario.records, slots, draw)
    cuts = sorted(draw.sample(range(1, len(records)), min(draw.randrange(5), len(records) - 1)))
    kernel = _Kernel(plan_group(definition, ()))
    for first, last in zip([0, *cuts], [*cuts, len(records)], strict=True):
        kernel.epoch(first, records[first:last])
    expected = admit_by_reference(definition, records, set(cuts))
    assert sorted(kernel.refused) == sorted((each.sn, each.fate) for each in expected.refused)
    assert sorted(kernel.admitted) == sorted((each.sn, each.clock_before) for each in expected.appends)
    assert {slot: None if c == NO_CLOCK else c for slot, c in kernel.clocks.items()} == expected.clocks
    assert sorted(kernel.changes, key=repr) == sorted(
        (
            (version.admitted.order, name, version.valid_from, version.row)
            for name, relation in expected.relations.items()
            for versions in relation.history.values()
            for version in versions
        ),
        key=repr,
    )


@settings(max_examples=20)
@given(scenario=scenarios(max_views=1, max_records=40), seed=st.integers(0, 1 << 32))
def test_one_slot_cut_anywhere_has_the_same_fates_clocks_and_changes(scenario: Scenario, seed: int) -> None:
    plan, draw = plan_group(_definition(scenario), ()), random.Random(seed)
    whole, cut = _Kernel(plan), _Kernel(plan)
    whole.epoch(0, scenario.records)
    for at in range(0, len(scenario.records), step := draw.randint(1, 7)):
        cut.epoch(at, scenario.records[at : at + step])
    for fact in ("refused", "admitted", "changes"):
        assert sorted(getattr(whole, fact), key=repr) == sorted(getattr(cut, fact), key=repr)
    assert whole.clocks == cut.clocks


NONE = int(NO_CHRONON)


def _admitted(
    chronons: list[int], changes_from: dict[int, int], policy: Policy = "reject", others: int = NO_CLOCK
) -> Admission:
    """All taken at 1000 with a max_skew of 1 s; `changes_from`: the valid_from of the change that an append has."""
    plan = RelationPlan(RelationLayout("customers", (Column("number", STRING),), ("number",)), policy)
    count = len(changes_from)
    changes = pa.table(
        {
            AT: pa.array(changes_from, pa.int64()),
            PLACE: pa.array([0] * count, pa.int64()),
            SINCE: pa.array(changes_from.values(), pa.int64()),
            GONE: pa.array([False] * count),
            "number": pa.array(["a"] * count),
        }
    )
    decoded = Decoded(np.array(chronons), {}, {}, {"customers": changes})
    taken_at, duplicate = np.full(len(chronons), 1000, np.int64), np.zeros(len(chronons), np.bool_)
    return admit(decoded, taken_at, duplicate, {"customers": plan}, parse_duration("PT1S"), NO_CLOCK, others)


def _fates(found: Admission) -> dict[int, str]:
    return {place: refusal.fate for place, refusal in found.refused.items()}


def test_an_append_that_is_refused_for_its_change_does_not_move_the_clock_of_those_after_it() -> None:
    """Chronon 50 with a change from 5 is refused by the clock 10; so the next change, from 20, is still proactive."""
    found = _admitted([10, 50, NONE, 30], {1: 5, 2: 20})
    assert _fates(found) == {1: "retroactive"}
    assert found.clocks.tolist() == [NO_CLOCK, 10, 10, 10]
    assert found.clock == 30
    assert found.changes["customers"].column(AT).to_pylist() == [2]


def test_a_change_from_the_very_clock_is_retroactive_and_one_from_just_after_is_not() -> None:
    assert _fates(_admitted([10, NONE, NONE], {1: 10, 2: 11})) == {1: "retroactive"}
    assert _admitted([10, NONE, NONE], {1: 10, 2: 11}, "clamp").changes["customers"].column(SINCE).to_pylist() == [
        11,
        11,
    ]
    assert _admitted([10, NONE], {1: 10}, "correct").changes["customers"].column(SINCE).to_pylist() == [10]


def test_a_change_is_judged_by_the_clocks_of_the_other_slots_too() -> None:
    assert _fates(_admitted([10, NONE, NONE], {1: 20, 2: 21}, others=20)) == {1: "retroactive"}


def test_without_any_clock_no_change_is_retroactive() -> None:
    assert _fates(_admitted([NONE, NONE], {0: -1_000, 1: NO_CLOCK})) == {}


def test_a_chronon_is_in_the_future_only_beyond_max_skew_and_does_not_move_the_clock() -> None:
    found = _admitted([1_001_001, 1_001_000], {})
    assert _fates(found) == {0: "future"}
    assert found.clocks.tolist() == [NO_CLOCK, NO_CLOCK]
    assert found.clock == 1_001_000
