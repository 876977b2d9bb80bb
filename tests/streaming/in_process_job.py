"""The job's loop without Spark, for tests that kill it: the same plans, plan log, kernels, folds and failpoints.

Everything durable happens as in `chronicle run`; only who calls the kernels is another. It starts in milliseconds, so
that a test can kill it often.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Collection
from multiprocessing.connection import Connection
from pathlib import Path

from chronicle.errors import ChronicleError
from chronicle.project import Project
from streaming.planning import meaning, next_plan, settle_definition, to_repeat
from streaming.run import plan_of, prepared
from streaming.source import JOURNAL, JournalSource
from views.kernel.failpoints import reach
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import ranges_of, run_epoch
from views.kernel.map import MapKernel
from views.kernel.rebuild import rebuild, to_rebuild
from views.plan import GroupPlan
from views.state import State, Stretch, writer_lock

_POLL_SECONDS = 0.002
_REBUILD_MOST = 1000


def keep_current(
    definition: Path, most: int, *, once: bool, failpoint: str = "", began: Connection | None = None
) -> None:
    """Runs epochs of at most `most` appends, until everything is drained (`once`) or for ever."""
    os.environ["CHRONICLE_FAILPOINT"] = failpoint
    project = Project.load(definition)
    plan, means = plan_of(project), meaning(project.definition)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    with writer_lock(project.state_dir):
        if (project.state_dir / "meta.json").exists():
            settle_definition(State.open(project.state_dir.absolute()), means)
        state = prepared(project, plan, source)
        if began is not None:
            began.send(None)
        try:
            _epochs(plan, state, source, most, means, once=once)
        finally:
            state.close()


def _epochs(plan: GroupPlan, state: State, source: JournalSource, most: int, means: str, *, once: bool) -> None:
    epoch = to_repeat(state)
    while True:
        if epoch is not None:
            reach("plan")
            state.epochs.write(epoch)
            reach("planned")
            run_epoch(plan, state, MapKernel(plan, state), epoch, source.read)
            reach("folded")
        standing, end = state.shard(0).standing(), source.extents()[JOURNAL].next
        at = standing.slots[0].next_offset if standing.slots else 0
        if stale := to_rebuild(plan, state):
            state = rebuild(plan, state, stale, source.read, [Stretch({0: (0, at)})], _REBUILD_MOST)
        epoch = None
        if at < end:
            ends = {JOURNAL: min(end, at + most)}
            epoch = next_plan(state.meta, standing, {}, ends, corrects=True, means=means)
        elif once:
            return
        else:
            time.sleep(_POLL_SECONDS)


def leave_half_done(definition: Path, count: int, shards: Collection[int]) -> None:
    """What a crash leaves: the next epoch, of `count` appends, is planned, and only these shards have it."""
    project = Project.load(definition)
    plan = plan_of(project)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    state = prepared(project, plan, source)
    standing = state.shard(0).standing()
    at = standing.slots[0].next_offset if standing.slots else 0
    ends, means = {JOURNAL: at + count}, meaning(project.definition)
    epoch = next_plan(state.meta, standing, {}, ends, corrects=True, means=means)
    state.epochs.write(epoch)
    kernel = MapKernel(plan, state)
    results = [kernel.map(part, source.read(part)) for part in ranges_of(epoch)]
    outcome, apart = outcome_of(epoch, results), [result.of_shards(state.shards) for result in results]
    for shard in shards:
        fold(plan, state, shard, epoch, outcome, [shares[shard] for shares in apart])
    state.close()


def run_out_of_disk(definition: Path, limit: int, told: Connection) -> None:
    """Drains with files of at most `limit` bytes, as on a disk that is full, and tells what the job says then."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        keep_current(definition, 10, once=True)
        told.send(None)
    except ChronicleError as error:
        told.send((error.message, error.hint))
