"""Epochs of one view's samples through map and fold, in a state of its own, and what each cost.

The cost is processor time of this process: it does not depend on what else runs on the machine, or on its disk.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from calendars import TZDATA_VERSION
from chronicle.definitions import Definition
from views.checked import CheckedView
from views.kernel.in_process import run_epoch
from views.kernel.map import MapKernel, SlotRange
from views.measure.samples import START, Samples, chronons, messages
from views.plan import GroupPlan, plan_group
from views.state import EpochPlan, SlotPlan, State

_BATCH = 100_000
_MAP_SIZE = 1 << 28


@dataclass(slots=True)
class Trial:
    """`versions` is how many rows each relation of the view has, `history` how many appends there were so far."""

    samples: Samples
    plan: GroupPlan
    state: State
    versions: int
    history: int = 0
    _kernel: MapKernel = field(init=False)
    _epoch: int = 0
    _offset: int = 0

    def __post_init__(self) -> None:
        self._kernel = MapKernel(self.plan, self.state)
        for relation in self.samples.view.bound.relations:
            bodies = self.samples.changes(relation, self.versions)
            for first in range(0, len(bodies), _BATCH):
                part = bodies[first : first + _BATCH]
                self._run(messages(part, self._offset, np.full(len(part), START), relation))

    @classmethod
    def begin(cls, definition: Definition, view: CheckedView, directory: Path, versions: int) -> Trial:
        plan = plan_group(definition, [view])
        state = State.prepare(
            directory,
            definition.name,
            plan.view_layouts,
            plan.relation_layouts,
            shards=1,
            tzdata=TZDATA_VERSION,
            topics={"journal": 1},
            map_size=_MAP_SIZE,
        )
        return cls(Samples.of(plan.group, view), plan, state, versions)

    def append(self, count: int) -> float:
        """An epoch of `count` further appends; its seconds of processor, without those of making them up."""
        bodies = self.samples.appends(self.history, count, self.versions)
        taken_at = chronons(self.history, count)
        self.history += count
        return self._run(messages(bodies, self._offset, taken_at))

    def _run(self, table: pa.Table) -> float:
        slot = self.state.shard(0).standing().slots.get(0)
        end = self._offset + table.num_rows
        part = SlotPlan(0, self._offset, end, self._offset, slot.clock if slot else None)
        self._epoch += 1
        self._offset = end

        def read(asked: SlotRange) -> pa.Table:
            return table

        began = time.process_time()
        run_epoch(self.plan, self.state, self._kernel, EpochPlan(self._epoch, (part,)), read)
        return time.process_time() - began
