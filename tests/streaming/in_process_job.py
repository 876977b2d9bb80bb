"""The job's loop without Spark, for tests that kill it: the same plans, plan log, kernels, folds and failpoints.

Everything durable happens as in `chronicle run`; only who calls the kernels is another. It starts in milliseconds, so
that a test can kill it often.
"""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

from chronicle.project import Project
from streaming.planning import meaning, next_plan, settle_definition, to_repeat
from streaming.run import plan_of, prepared
from streaming.source import JOURNAL, JournalSource
from views.kernel.failpoints import reach
from views.kernel.in_process import run_epoch
from views.kernel.map import MapKernel
from views.kernel.rebuild import rebuild, to_rebuild
from views.state import State, writer_lock

_POLL_SECONDS = 0.002


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
                state = rebuild(plan, state, stale, source.read, at, 1000)
            epoch = None
            if at < end:
                ends = {JOURNAL: min(end, at + most)}
                epoch = next_plan(state.meta, standing, {}, ends, corrects=True, means=means)
            elif once:
                return
            else:
                time.sleep(_POLL_SECONDS)
