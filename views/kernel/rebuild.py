"""Views built anew from the retained chronicle: a view that is new, or whose relations were corrected in the past.

The rows are built beside the old ones under new ids and adopted all at once, so that a lookup sees the one or the
other, and a crash in between leaves the old. Each append is judged as it was: by its slot's clock, and by what the
others' were where the state's cuts say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from views.kernel.failpoints import reach
from views.kernel.map import MapKernel, SlotRange, corrections
from views.kernel.partials import SlotResult
from views.plan import GroupPlan
from views.state import LEDGER_SHARD, ShardTransaction, Slot, State, Stretch

Read = Callable[[SlotRange], pa.Table]


def to_rebuild(plan: GroupPlan, state: State) -> dict[str, int]:
    """The views whose rows do not reflect the whole chronicle with all corrections, each with how many these are."""
    counted = _corrections(plan, state)
    return {
        view.name: counted[view.name]
        for view in plan.views
        if state.meta.views[view.name].since or counted[view.name] > state.meta.corrected.get(view.name, 0)
    }


def _corrections(plan: GroupPlan, state: State) -> dict[str, int]:
    with state.shard(LEDGER_SHARD).read() as snapshot:
        counters = snapshot.tally().counters
    return {view.name: sum(counters.get(corrections(name), 0) for name in view.relations) for view in plan.views}


def replay(
    kernel: MapKernel, slots: Sequence[Slot], stretches: Iterable[Stretch], read: Read, most: int
) -> Iterator[SlotResult]:
    """Maps everything again, at most `most` appends at a time; relations are those of the kernel's state, whole: a
    version that an append did not know begins after its chronon."""
    clocks: dict[int, int | None] = {}
    for stretch in stretches:
        for slot, clock in (stretch.clocks or {}).items():
            clocks[slot] = _later(clocks.get(slot), clock)
        before = dict(clocks)
        for slot, (first, last) in sorted(stretch.ranges.items()):
            others = _later(*(clock for other, clock in before.items() if other != slot))
            for start in range(first, last, most):
                end = min(start + most, last)
                part = SlotRange(slot, start, end, start, clocks.get(slot), others, corrects=True, place=slots[slot])
                result = kernel.map(part, read(part))
                clocks[slot] = result.clock
                yield result


def _later(*clocks: int | None) -> int | None:
    return max((clock for clock in clocks if clock is not None), default=None)


def rebuild(
    plan: GroupPlan, state: State, views: Mapping[str, int], read: Read, stretches: Iterable[Stretch], most: int
) -> State:
    """Builds these views (as `to_rebuild` gives them) from the appends of the stretches, and adopts them."""
    begun = state.with_new_ids(views)
    reach("rebuild")
    kernel = MapKernel(plan.only(views), begun)
    for result in replay(kernel, state.meta.slots, stretches, read, most):
        for shard, share in enumerate(result.of_shards(state.shards)):
            begun.shard(shard).extend(_merging(share))
            reach("rebuilding")
    reach("rebuilt")
    adopted = begun.adopt(views)
    reach("adopted")
    _forget(adopted, (state.meta.views[name].id for name in views))
    return adopted


def _merging(share: SlotResult) -> Callable[[ShardTransaction], None]:
    def work(transaction: ShardTransaction) -> None:
        for partials in share.partials:
            partials.merge_into(transaction)

    return work


def _forget(state: State, ids: Iterable[int]) -> None:
    """Deletes the rows that nobody can read any more."""
    gone = list(ids)

    def work(transaction: ShardTransaction) -> None:
        for identity in gone:
            transaction.drop(identity)

    for shard in range(state.shards):
        state.shard(shard).extend(work)
