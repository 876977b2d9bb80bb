"""Which task maps which ranges."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from streaming.epochs import _cut, _dealt
from views.kernel.map import SlotRange
from views.kernel.relay import ALONE

sizes = st.lists(st.integers(1, 1_000), min_size=1, max_size=30)


def ranges(of: list[int]) -> list[SlotRange]:
    return [SlotRange(slot, 7, 7 + size, 7, None) for slot, size in enumerate(of)]


@given(of=sizes, hands=st.integers(1, 8))
def test_every_range_is_dealt_once_and_no_hand_is_heavier_than_another_by_more_than_a_range(
    of: list[int], hands: int
) -> None:
    dealt = _dealt([(part, ALONE) for part in ranges(of)], hands)
    assert sorted(part.slot for hand in dealt for part, _ in hand) == list(range(len(of)))
    assert len(dealt) == min(hands, len(of))
    weights = [sum(part.end - part.start for part, _ in hand) for hand in dealt]
    assert max(weights) - min(weights) <= max(of)


@given(size=st.integers(1, 1_000), pieces=st.integers(1, 8))
def test_a_range_is_cut_into_parts_that_follow_each_other_and_each_has_a_hand_of_its_own(
    size: int, pieces: int
) -> None:
    (whole,) = ranges([size])
    parts = _cut(whole, pieces)
    assert parts[0].start == whole.start
    assert parts[-1].end == whole.end
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert all(len(hand) == 1 for hand in _dealt([(part, ALONE) for part in parts], pieces))
