"""What of the chronicle can be gone through again, for views that have to be built anew, and how it is read for that.

The journal is one slot, whose first append to its last is all there is to know. Over Kafka the state's cuts say how
slots stood to each other, and relation versions are those that the state has: so what a tuple joined comes out as it
did unless a change came in the epoch of another slot's tuples (`crossed`), and `correct` relations are known whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from chronicle.errors import ChronicleError
from streaming.cutting import cuts_of, first_offsets
from streaming.kafka_source import KafkaSource
from streaming.source import JournalSource, Reader, Source, is_replayable
from views.kernel.map import SlotRange
from views.plan import GroupPlan, ViewPlan
from views.state import LEDGER_SHARD, State, Stretch, stretches

_AHEAD = 100_000
"""Messages that are read at once: cuts may be close to each other."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The stretches of everything that has a fate, and how their messages are read. `views` can be built from them."""

    stretches: tuple[Stretch, ...]
    read: Reader
    views: frozenset[str]


def may_correct(plan: GroupPlan, state: State, source: Source, starts: Mapping[int, int]) -> bool:
    """Whether changes from the past may be taken: all that the views of such relations count can be gone through again,
    whatever comes in which epoch. `starts` are the first offsets of Kafka's slots."""
    correcting = {name for name, relation in plan.relations.items() if relation.retroactive == "correct"}
    if not correcting:
        return False
    if not isinstance(source, KafkaSource):
        return is_replayable(source.extents())
    slots = [slot for slot in state.meta.slots if slot.topic not in plan.own_topics]
    mixed = any(view.relations & correcting and view.relations - correcting for view in plan.views)
    return not (mixed and len(slots) > 1) and bool(starts) and _is_whole(plan, state, source, starts)


def replay_of(plan: GroupPlan, state: State, source: Source) -> Replay | None:
    """None where some of it is gone."""
    standing = state.shard(LEDGER_SHARD).standing()
    ends = {slot: at.next_offset for slot, at in standing.slots.items()}
    if isinstance(source, JournalSource):
        whole = is_replayable(source.extents())
        every = frozenset(view.name for view in plan.views)
        return Replay(tuple(stretches((), ends)), source.read, every) if whole else None
    assert isinstance(source, KafkaSource)
    try:
        cuts = cuts_of(state)
    except ChronicleError:
        return None
    if not _is_whole(plan, state, source, first_offsets(cuts)):
        return None
    all_of_it = tuple(stretches(cuts, ends))
    crossed = any(_is_crossed(plan, state, stretch) for stretch in all_of_it)
    own = {number for number, slot in enumerate(state.meta.slots) if slot.topic in plan.own_topics}
    return Replay(
        tuple(_without(stretch, own) for stretch in all_of_it),
        _Ahead(source),
        frozenset(view.name for view in plan.views if not crossed or _knows_all(plan, view)),
    )


def _is_whole(plan: GroupPlan, state: State, source: KafkaSource, starts: Mapping[int, int]) -> bool:
    """Whether every slot with tuples still has its first. What relations' own topics had is in the state."""
    extents, slots = source.extents(), state.meta.slots
    wanted = {slots[slot]: start for slot, start in starts.items() if slots[slot].topic not in plan.own_topics}
    there = all(slot in extents and extents[slot].earliest <= start for slot, start in wanted.items())
    return there and not source.compacted & {slot.topic for slot in wanted}


def _without(stretch: Stretch, slots: set[int]) -> Stretch:
    ranges = {slot: part for slot, part in stretch.ranges.items() if slot not in slots}
    return Stretch(ranges, stretch.clocks, stretch.changed)


def _is_crossed(plan: GroupPlan, state: State, stretch: Stretch) -> bool:
    """Whether it may have changes that tuples of another slot in it did not know."""
    topics = {state.meta.slots[slot].topic for slot in stretch.ranges}
    return stretch.changed and len(stretch.ranges) > 1 and not topics <= plan.own_topics.keys()


def _knows_all(plan: GroupPlan, view: ViewPlan) -> bool:
    return all(plan.relations[name].retroactive == "correct" for name in view.relations)


@dataclass(slots=True)
class _Ahead:
    """Reads more of a slot than it is asked for, since the next that it is asked for is what follows."""

    source: KafkaSource
    _held: dict[int, tuple[int, int, pa.Table]] = field(default_factory=dict)

    def __call__(self, part: SlotRange) -> pa.Table:
        first, last, messages = self._held.get(part.slot, (0, 0, None))
        if messages is None or not (first <= part.start and part.end <= last):
            assert part.place is not None  # Kafka's slots are topic-partitions
            first, there = part.start, self.source.extents()[part.place].next
            last = max(part.end, min(there, first + _AHEAD))
            messages = self.source.read(replace(part, end=last))
            self._held[part.slot] = (first, last, messages)
        offsets = messages.column("offset").to_numpy()
        begin, end = offsets.searchsorted([part.start, part.end])
        return messages.slice(begin, end - begin)
