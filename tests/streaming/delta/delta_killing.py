"""Processes that write a Delta state or follow one, and are killed: forked from a server that has all imported."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from pathlib import Path

from generators.delta import LocalDeltaJob

from chronicle.project import Project
from streaming.planning import meaning, next_plan, settle_definition, to_repeat
from streaming.source import JOURNAL, JournalSource
from views.kernel.failpoints import reach
from views.replica import compact
from views.state import writer_lock

COMPACT_EVERY = 3

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["streaming.delta.store", "streaming.delta.repair", "views.lookup", "views.reference"])


def keep_current(definition: Path, most: int, failpoint: str, bucket: Mapping[str, str] | None = None) -> None:
    """Drains the journal into the Delta state in epochs of at most `most` appends; compacts now and then. `bucket` is
    the environment of one, with its URL as STATE."""
    os.environ.update({**(bucket or {}), "CHRONICLE_FAILPOINT": failpoint})
    project = Project.load(definition, state=bucket and bucket["STATE"])
    assert project.journal_path is not None
    source, means = JournalSource.at(project.journal_path.absolute()), meaning(project.definition)
    with writer_lock(project.home.own):
        job = LocalDeltaJob(project)
        settle_definition(job.state, means)
        epoch = to_repeat(job.state)
        while True:
            if epoch is not None:
                reach("plan")
                job.state.epochs.write(epoch)
                reach("planned")
                job.run(epoch, source.read)
                if epoch.epoch % COMPACT_EVERY == 0:
                    compact(job.home, job.plan)
            standing, end = job.state.shard(0).standing(), source.extents()[JOURNAL].next
            at = standing.slots[0].next_offset if standing.slots else 0
            job.repair(source.read, at)
            if at == end:
                return
            ends = {JOURNAL: min(end, at + most)}
            epoch = next_plan(job.state.meta, standing, {}, ends, corrects=True, means=means)


def follow(definition: Path, index: Path, failpoint: str) -> None:
    os.environ["CHRONICLE_FAILPOINT"] = failpoint
    project = Project.load(definition)
    from generators.delta import SMALL_MAP

    from views.replica import Follower
    from views.replica.indexes import plan_of

    Follower(project.home, index, plan_of(project), map_size=SMALL_MAP).catch_up()


def exit_code(target: object, *arguments: object) -> int | None:
    """Of a process that runs this to its end, or to its death."""
    process = _context.Process(target=target, args=arguments)  # type: ignore[arg-type]
    process.start()
    process.join()
    return process.exitcode
