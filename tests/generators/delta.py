"""A Delta state written without Spark: the job's own opening, maps, files, commits and repairs, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import yaml

from chronicle.project import Project
from generators.kernels import assert_same, assert_same_rows, messages_of, project_of
from generators.scenarios import Scenario
from streaming.delta.repair import rebuild
from streaming.delta.store import open_delta
from streaming.delta.tasks import shares_of
from views.kernel.failpoints import reach
from views.kernel.fold import outcome_of
from views.kernel.in_process import CORRECTS, Read, ranges_of
from views.kernel.map import MapKernel, SlotRange
from views.kernel.rebuild import to_rebuild
from views.lookup import connect
from views.plan import plan_group
from views.reference import Outcome, Record
from views.replica import Follower, private_index
from views.replica.table import PARTIAL, write_file
from views.state import EpochPlan, SlotPlan, Stretch

SMALL_MAP = 1 << 24
"""Many states in one process: the usual 256 GiB each would use up the addresses."""


def delta_project(scenario: Scenario, directory: Path, shards: int) -> Project:
    return project_of(yaml.safe_dump({**scenario.definition, "shards": shards}, sort_keys=False), directory)


class LocalDeltaJob:
    """What `chronicle run --store delta` does with an epoch; only who calls the kernels is another."""

    def __init__(self, project: Project, slots: int = 1) -> None:
        self.project = project
        self.plan = plan_group(project.definition, project.check().admitted.values())
        opened = open_delta(project, self.plan, {"journal": slots}, map_size=SMALL_MAP)
        self.home, self.committer = opened.home, opened.committer
        self.follower, self.state = opened.follower, opened.state

    def run(self, planned: EpochPlan, read: Read) -> None:
        if self.committer.epoch < planned.epoch:
            self.commit(planned, read)
        self.follower.catch_up()
        reach("folded")

    def commit(self, planned: EpochPlan, read: Read) -> None:
        """The maps' files and the commit, without the index after it."""
        kernel = MapKernel(self.plan, self.state)
        results = [kernel.map(part, read(part)) for part in ranges_of(planned, self.state.meta.slots)]
        shares = [shares_of([result], self.state.shards) for result in results]
        files = [write_file(self.home, PARTIAL, planned.epoch, each) for each in shares]
        reach("written")
        self.committer.commit(planned.epoch, files, outcome_of(planned, results))

    def repair(self, read: Read, until: int) -> None:
        if not (stale := to_rebuild(self.plan, self.state)):
            return
        meta = rebuild(self.home, self.committer, self.plan, self.state, stale, read, [Stretch({0: (0, until)})], 7)
        self.follower = Follower(self.home, private_index(self.home, self.plan), self.plan, map_size=SMALL_MAP)
        self.follower.catch_up()
        self.state = replace(self.follower.state, meta=meta, home=self.home)

    def follow_into(self, index: Path) -> Follower:
        return Follower(self.home, index, self.plan, map_size=SMALL_MAP)


class RecordsJob(LocalDeltaJob):
    """A job over records that a test has at hand."""

    def __init__(self, project: Project, records: Sequence[Record]) -> None:
        super().__init__(project, 1 + max((record.slot for record in records), default=0))
        self.records = records

    def epoch(self, first: int, last: int) -> None:
        """An epoch of the records [first, last)."""
        self.run(*self.planned(first, last))
        self.repair(self._retained, last)

    def planned(self, first: int, last: int) -> tuple[EpochPlan, Read]:
        before, some, plans = self.state.shard(0).standing(), self.records[first:last], []
        slots = range(len(self.state.meta.slots))
        for slot in slots:
            own = [record for record in some if record.slot == slot]
            stood = before.slots.get(slot)
            high, clock = (stood.next_offset, stood.clock) if stood else (0, before.clock)
            end = max((record.offset + 1 for record in own), default=high)
            plans.append(SlotPlan(slot, min((r.offset for r in own), default=high), max(end, high), high, clock))
        planned = EpochPlan(before.epoch + 1, tuple(plans), {CORRECTS: len(slots) == 1})
        return planned, lambda part: messages_of([record for record in some if record.slot == part.slot])

    def _retained(self, part: SlotRange) -> pa.Table:
        return messages_of([record for record in self.records if part.start <= record.offset < part.end])


def assert_index(project: Project, index: Path, expected: Outcome) -> None:
    """An index holds the reference's rows and ledger. Where a relation was corrected, tuples that joined nothing before
    the correction stay counted as such."""
    views = connect(project, index)
    try:
        corrects = any(each.retroactive == "correct" for each in project.definition.relations.values())
        (assert_same_rows if corrects else assert_same)(views, expected)
    finally:
        views.state.close()
