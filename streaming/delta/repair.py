"""Views built anew in a Delta state: replayed from the retained chronicle, and put into a new snapshot in one commit.

The new rows are committed first and the views get new ids after it, both durable: a crash in between leaves views that
are still to be built, and rows that are right already.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from streaming.delta.commits import Committer
from streaming.source import Reader
from views.kernel.failpoints import reach
from views.kernel.map import MapKernel
from views.kernel.partials import SlotResult
from views.kernel.rebuild import replay
from views.plan import GroupPlan
from views.replica.compaction import Work, compact_shard
from views.replica.snapshots import apply, known_part, parts_of
from views.replica.table import File
from views.state import Meta, State, Stretch, read_meta
from views.state.environment import environment
from views.state.meta import replace_meta, with_new_ids, write_meta
from views.state.storage import Storage


def rebuild(
    home: Storage,
    committer: Committer,
    plan: GroupPlan,
    index: State,
    views: Mapping[str, int],
    read: Reader,
    stretches: Iterable[Stretch],
    most: int,
) -> Meta:
    """Builds these views (as `to_rebuild` gives them) from the appends of the stretches; returns the registry as it
    is then. `index` is the job's own, up to the last epoch: relations are read from it."""
    wanted = plan.only(views)
    with tempfile.TemporaryDirectory(prefix="chronicle-rebuild-") as directory:
        scratch = _scratch(Path(directory), read_meta(home), wanted)
        try:
            _replay(replay(MapKernel(wanted, index), index.meta.slots, stretches, read, most), scratch)
            committer.replace(lambda work: _snapshot(work, plan, scratch, views))
        finally:
            scratch.close()
    reach("rebuilt")
    held = read_meta(home)
    meta = replace(with_new_ids(held, views), corrected={**held.corrected, **views})
    replace_meta(home, held, meta)
    reach("adopted")
    return meta


def _scratch(directory: Path, meta: Meta, plan: GroupPlan) -> State:
    write_meta(directory, meta)
    for shard in range(meta.shards):
        environment(directory / "shards" / f"{shard:02d}", create=True)
    return State.open(directory, plan.view_layouts, ())


def _replay(results: Iterable[SlotResult], scratch: State) -> None:
    for result in results:
        for shard, share in enumerate(result.of_shards(scratch.shards)):
            rows = known_part(replace(share, quarantine=()), scratch.registry.views, ())
            scratch.shard(shard).extend(lambda transaction, rows=rows: apply(transaction, [rows]))  # type: ignore[misc]


def _snapshot(work: Work, plan: GroupPlan, scratch: State, views: Mapping[str, int]) -> list[File]:
    files: list[File] = []
    for shard in range(scratch.shards):
        with scratch.shard(shard).read() as snapshot:
            built = parts_of(snapshot, scratch.registry)
            files.append(compact_shard(work, plan, shard, views.keys(), built))
    return files
