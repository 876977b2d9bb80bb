"""The job's loop without Spark, for tests that kill it: the same plans, plan log, kernels, folds and failpoints.

Everything durable happens as in `chronicle run`; only who calls the kernels is another. It starts in milliseconds, so
that a test can kill it often.
"""

from __future__ import annotations

import sys
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
from views.state import EpochPlan, State, writer_lock

_POLL_SECONDS = 0.002


def keep_current(definition: Path, most: int, *, once: bool, began: Connection | None = None) -> None:
    """Runs epochs of at most `most` appends, until everything is drained (`once`) or for ever."""
    project = Project.load(definition)
    plan, means = plan_of(project), meaning(project.definition)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    with writer_lock(project.state_dir):
        if (project.state_dir / "meta.json").exists():
            settle_definition(State.open(project.state_dir.absolute()), means)
        state = prepared(project, plan, source)
        kernel = MapKernel(plan, state)

        def run(epoch: EpochPlan) -> None:
            reach("plan")
            state.epochs.write(epoch)
            reach("planned")
            run_epoch(plan, state, kernel, epoch, source.read)
            reach("folded")

        if began is not None:
            began.send(None)
        if (planned := to_repeat(state)) is not None:
            run(planned)
        while True:
            standing, end = state.shard(0).standing(), source.extents()[JOURNAL].next
            at = standing.slots[0].next_offset if standing.slots else 0
            if at < end:
                run(next_plan(state.meta, standing, {}, {JOURNAL: min(end, at + most)}, means=means))
            elif once:
                return
            else:
                time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    keep_current(Path(sys.argv[1]), int(sys.argv[2]), once=True)
