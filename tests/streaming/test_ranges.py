"""How much of each slot a micro-batch takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streaming.ranges import limited
from views.state import Slot

CRM, CALLS, MORE = Slot("crm", 0), Slot("calls", 0), Slot("calls", 1)


def test_what_waits_in_topics_of_relations_goes_first_and_the_rest_is_shared() -> None:
    ends = {CRM: 30, CALLS: 300, MORE: 100}
    assert limited({}, ends, 50, {"crm"}) == {CRM: 30, CALLS: 15, MORE: 5}
    assert limited({}, ends, 20, {"crm"}) == {CRM: 20, CALLS: 0, MORE: 0}
    assert limited({CRM: 30}, ends, 40, {"crm"}) == {CRM: 30, CALLS: 30, MORE: 10}
    assert limited({}, ends, 43) == {CRM: 3, CALLS: 30, MORE: 10}


@given(
    waiting=st.dictionaries(st.sampled_from([CRM, CALLS, MORE]), st.integers(0, 1000), min_size=1),
    most=st.integers(1, 1500),
    first=st.sets(st.sampled_from(["crm", "calls"])),
)
def test_no_slot_is_read_beyond_its_end_and_something_is_read_where_anything_waits(
    waiting: dict[Slot, int], most: int, first: set[str]
) -> None:
    found = limited({}, waiting, most, first)
    assert found.keys() == waiting.keys()
    assert all(0 <= found[slot] <= waiting[slot] for slot in waiting)
    assert sum(found.values()) >= min(most, sum(waiting.values()))
    assert sum(found.values()) <= most + len(waiting)
