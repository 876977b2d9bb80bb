"""Epochs through map and fold in this process, for what is measured of the kernels alone, without Spark."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from calendars import TZDATA_VERSION
from chronicle.project import Project
from views.kernel.in_process import run_epoch
from views.kernel.map import MapKernel
from views.measure.samples import messages
from views.plan import plan_group
from views.state import EpochPlan, SlotPlan, State


class Kernels:
    """A project's views over its state, one that is there or a new one, epoch after epoch."""

    def __init__(self, project: Project) -> None:
        definition = project.definition
        self.plan = plan_group(definition, project.check().admitted.values())
        self.state = State.prepare(
            project.state_dir,
            definition.name,
            self.plan.view_layouts,
            self.plan.relation_layouts,
            shards=definition.shards,
            tzdata=TZDATA_VERSION,
            topics={"journal": 1},
        )
        self._kernel = MapKernel(self.plan, self.state)

    def run(self, bodies: Sequence[bytes], taken_at: int) -> float:
        """The seconds of an epoch, its commits with it."""
        standing = self.state.shard(0).standing()
        slot = standing.slots.get(0)
        first, clock = (slot.next_offset, slot.clock) if slot else (0, None)
        table = messages(bodies, first, np.full(len(bodies), taken_at))
        part = SlotPlan(0, first, first + len(bodies), first, clock)

        def read(asked: object) -> pa.Table:
            return table

        began = time.perf_counter()
        run_epoch(self.plan, self.state, self._kernel, EpochPlan(standing.epoch + 1, (part,)), read)
        return time.perf_counter() - began

    def settled(self, epochs: Sequence[Sequence[bytes]], taken_at: int) -> float:
        """Microseconds of an append: the median of the epochs, without the first third, which warms up."""
        seconds = [self.run(bodies, taken_at) / len(bodies) for bodies in epochs]
        return statistics.median(seconds[len(seconds) // 3 :]) * 1e6
