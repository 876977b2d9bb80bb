"""Which task maps which ranges."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from streaming.dealing import cut, dealt
from views.kernel.map import SlotRange
from views.kernel.relay import ALONE

sizes = st.lists(st.integers(1, 1_000), min_size=1, max_size=30)


def ranges(of: list[int]) -> list[SlotRange]:
    return [SlotRange(slot, 7, 7 + size, 7, None) for slot, size in enumerate(of)]


@given(of=sizes, hands=st.integers(1, 8))
def test_every_range_is_dealt_once_and_no_hand_is_heavier_than_another_by_more_than_a_range(
    of: list[int], hands: int
) -> None:
    found = dealt(ranges(of), hands, 0, Path(), 1, divisible=False)
    assert sorted(part.slot for hand in found for part, _ in hand) == list(range(len(of)))
    assert all(relay is ALONE for hand in found for _, relay in hand)
    assert len(found) == min(hands, len(of))
    weights = [sum(part.end - part.start for part, _ in hand) for hand in found]
    assert max(weights) - min(weights) <= max(of)


@given(of=sizes, hands=st.integers(1, 8), least=st.integers(0, 300))
def test_parts_of_a_range_follow_each_other_and_none_waits_behind_another(
    of: list[int], hands: int, least: int
) -> None:
    found = dealt(ranges(of), hands, least, Path(), 1, divisible=True)
    assert len(found) <= hands
    for whole in ranges(of):
        parts = sorted((p for hand in found for p, _ in hand if p.slot == whole.slot), key=lambda part: part.start)
        assert (parts[0].start, parts[-1].end) == (whole.start, whole.end)
        assert all(one.end == other.start for one, other in pairwise(parts))
        assert len(parts) == 1 or all(len(hand) == 1 for hand in found)


@given(size=st.integers(1, 1_000), pieces=st.integers(1, 8))
def test_a_range_is_cut_into_parts_of_about_the_same_size(size: int, pieces: int) -> None:
    sizes = [part.end - part.start for part in cut(ranges([size])[0], pieces)]
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) <= 1
