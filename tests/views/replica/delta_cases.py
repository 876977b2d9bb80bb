"""A Delta state written without Spark: the same maps, files and commits, in this process, in milliseconds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import yaml
from generators import Scenario
from generators.kernels import messages_of, project_of

from chronicle.project import Project
from streaming.delta.repair import rebuild
from streaming.delta.store import DeltaState, open_delta
from streaming.delta.tasks import shares_of
from views.kernel.fold import outcome_of
from views.kernel.in_process import CORRECTS, ranges_of
from views.kernel.map import MapKernel, SlotRange
from views.kernel.rebuild import to_rebuild
from views.lookup import Views, connect
from views.plan import plan_group
from views.reference import Record
from views.replica import Follower, private_index
from views.replica.table import PARTIAL, write_file
from views.state import EpochPlan, SlotPlan

SMALL_MAP = 1 << 24


def delta_project(scenario: Scenario, directory: Path, shards: int) -> Project:
    return project_of(yaml.safe_dump({**scenario.definition, "shards": shards}, sort_keys=False), directory)


class DeltaJob:
    """What `chronicle run --store delta` does, epoch by epoch, for records that a test has at hand."""

    def __init__(self, project: Project, records: Sequence[Record], *, map_size: int = SMALL_MAP) -> None:
        self.project = project
        self.records = records
        self.plan = plan_group(project.definition, project.check().admitted.values())
        self.slots = 1 + max((record.slot for record in records), default=0)
        self.delta: DeltaState = open_delta(project, self.plan, {"journal": self.slots}, map_size=map_size)
        self.home = self.delta.home
        self.follower = self.delta.follower
        self.state = self.delta.state

    def run(self, cuts: Collection[int]) -> None:
        """All records, one epoch between any two cuts (places among records)."""
        for first, last in pairwise(sorted({0, *cuts, len(self.records)})):
            self.epoch(first, last)

    def epoch(self, first: int, last: int) -> None:
        planned = self.planned(first, last)
        self.commit(planned)
        self.follower.catch_up()
        if stale := to_rebuild(self.plan, self.state):
            self._rebuild(stale, last)

    def planned(self, first: int, last: int) -> EpochPlan:
        before = self.state.shard(0).standing()
        plans = []
        for slot in range(self.slots):
            own = [record for record in self.records[first:last] if record.slot == slot]
            stood = before.slots.get(slot)
            high, clock = (stood.next_offset, stood.clock) if stood else (0, before.clock)
            end = max((record.offset + 1 for record in own), default=high)
            plans.append(SlotPlan(slot, min((r.offset for r in own), default=high), max(end, high), high, clock))
        self._between = self.records[first:last]
        return EpochPlan(before.epoch + 1, tuple(plans), {CORRECTS: self.slots == 1})

    def commit(self, planned: EpochPlan) -> None:
        kernel = MapKernel(self.plan, self.state)
        results = [kernel.map(part, self._read(part)) for part in ranges_of(planned, self.state.meta.slots)]
        files = [
            write_file(self.home, PARTIAL, planned.epoch, shares_of([result], self.state.shards)) for result in results
        ]
        self.delta.committer.commit(planned.epoch, files, outcome_of(planned, results))

    def _read(self, part: SlotRange) -> pa.Table:
        return messages_of([record for record in self._between if record.slot == part.slot])

    def _rebuild(self, stale: dict[str, int], until: int) -> None:
        def read(part: SlotRange) -> pa.Table:
            return messages_of([record for record in self.records if part.start <= record.offset < part.end])

        meta = rebuild(self.home, self.delta.committer, self.plan, self.state, stale, read, until, 7)
        self.follower = Follower(self.home, private_index(self.home, self.plan), self.plan, map_size=SMALL_MAP)
        self.follower.catch_up()
        self.state = replace(self.follower.state, meta=meta, home=self.home)

    def follow_into(self, index: Path) -> Follower:
        return Follower(self.home, index, self.plan, map_size=SMALL_MAP)


def views_of(project: Project, index: Path) -> Views:
    return connect(project, index)
