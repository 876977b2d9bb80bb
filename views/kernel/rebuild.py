"""Views built anew from the retained chronicle: a view that is new, or whose relations were corrected in the past.

The rows are built beside the old ones under new ids and adopted all at once, so that a lookup sees the one or the
other, and a crash in between leaves the old. Possible for the journal, whose one slot makes admission a function of the
appends alone: replayed from the first append, each is judged as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from views.kernel.failpoints import reach
from views.kernel.map import MapKernel, SlotRange, corrections
from views.kernel.partials import SlotResult
from views.plan import GroupPlan
from views.state import LEDGER_SHARD, ShardTransaction, State

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


def rebuild(plan: GroupPlan, state: State, views: Mapping[str, int], read: Read, until: int, most: int) -> State:
    """Builds these views (as `to_rebuild` gives them) from the appends [0, until) of the journal, and adopts them."""
    begun = state.with_new_ids(views)
    reach("rebuild")
    kernel = MapKernel(plan.only(views), begun)
    clock: int | None = None
    for start in range(0, until, most):
        part = SlotRange(0, start, min(start + most, until), start, clock, corrects=True)
        result = kernel.map(part, read(part))
        clock = result.clock
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
