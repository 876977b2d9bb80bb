"""What runs in Spark's Python workers: a map, a fold, or a small epoch whole. Functions of Arrow batches, no Spark.

A worker lives for many epochs: the plan is unpickled, the state opened and DuckDB connected once.
"""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streaming.failures import carried
from streaming.source import Source
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import fold_all, ranges_of
from views.kernel.map import MapKernel, SlotRange
from views.kernel.partials import SlotResult
from views.kernel.relay import Relay
from views.kernel.wire import decode, encode
from views.plan import GroupPlan
from views.state import EpochPlan, Slot, State

MAPPED = "shard int, share string"
FOLDED = "shard int, fresh boolean"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Group:
    """What every task of a job needs; `plan` is a Spark broadcast of the pickled GroupPlan, known by `plan_id`."""

    state: Path
    state_id: str
    shards: int
    plan_id: str
    plan: Any
    map_size: int

    def kernel(self) -> MapKernel:
        """For a task that maps."""
        return self.opened()[2]

    def opened(self) -> tuple[GroupPlan, State, MapKernel]:
        key = (os.getpid(), str(self.state), self.state_id, self.plan_id)
        if key not in _opened:
            _opened.clear()
            plan: GroupPlan = pickle.loads(self.plan.value)
            state = State.open(self.state, plan.view_layouts, plan.relation_layouts, self.map_size)
            _opened[key] = (plan, state, MapKernel(plan, state))
            spare_the_collector()
        return _opened[key]


_opened: dict[tuple[int, str, str, str], tuple[GroupPlan, State, MapKernel]] = {}


def spare_the_collector() -> None:
    """Takes what a worker keeps for good away from Python's garbage collector. Spark's daemon collects after every
    task, and the next one waits: through all that is imported and opened that took longer than a small epoch's work."""
    gc.unfreeze()  # what was opened before, and is given up now
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Opens what a worker keeps, and maps nothing."""

    group: Group
    source: Source

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            self.group.kernel()
            self.source.open()
            for _ in batches:
                shards = range(self.group.shards)
                yield pa.record_batch([pa.array(shards, pa.int32()), pa.array([""] * len(shards))], ["shard", "share"])


def ignored(batches: Batches) -> Batches:
    """The second stage of a warm-up."""
    for batch in batches:
        for shard in batch.column(0).to_pylist():
            yield folded(shard, False)


@dataclass(frozen=True, slots=True)
class MapRanges:
    """Rows are the numbers of tasks, each with ranges to map. A worker reads them itself and leaves the results in
    files for the folds, one for each shard: neither passes through the JVM. Folds open the state, so they see its
    directory too."""

    group: Group
    directory: Path
    source: Source
    tasks: Sequence[Sequence[tuple[SlotRange, Relay]]]

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            kernel = self.group.kernel()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    for place, (part, relay) in enumerate(self.tasks[number]):
                        result = kernel.map(part, self.source.read(part), relay)
                        yield self._left(result, f"{number}-{place}")

    def _left(self, result: SlotResult, name: str) -> pa.RecordBatch:
        """Where the share of each shard is; it is there whole, whichever attempt of the task wrote it last."""
        shares = result.of_shards(self.group.shards)
        paths = [self.directory / f"share-{name}-{shard}" for shard in range(len(shares))]
        for path, share in zip(paths, shares, strict=True):
            beside = path.with_name(f".{path.name}-{os.getpid()}")
            beside.write_bytes(encode(share))
            beside.rename(path)
        return pa.record_batch(
            [pa.array(range(len(paths)), pa.int32()), pa.array(list(map(str, paths)))], ["shard", "share"]
        )


@dataclass(frozen=True, slots=True)
class FoldShards:
    """Rows are the shares of one or several shards, from every map."""

    group: Group
    epoch: EpochPlan

    def __call__(self, batches: Batches) -> Batches:
        by_shard: dict[int, list[SlotResult]] = {}
        for batch in batches:
            for shard, path in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                with pa.memory_map(path) as file:
                    by_shard.setdefault(shard, []).append(decode(file.read_buffer()))
        with carried():
            plan, state, _ = self.group.opened()
            for shard, results in sorted(by_shard.items()):
                fresh = fold(plan, state, shard, self.epoch, outcome_of(self.epoch, results), results)
                yield folded(shard, fresh)


@dataclass(frozen=True, slots=True)
class WholeEpoch:
    """The epoch that is written down last, in one task: for a small one, a shuffle and a second stage would cost more
    than the work. It holds nothing of the epoch, so that its frame is planned once and run again and again."""

    group: Group
    source: Source
    slots: tuple[Slot, ...]

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            plan, state, kernel = self.group.opened()
            for _ in batches:
                epoch = state.epochs.latest()
                assert epoch is not None  # it is written down before it is run
                ranges = ranges_of(epoch, self.slots)
                messages = self.source.read_together(ranges)
                fold_all(plan, state, epoch, list(map(kernel.map, ranges, messages)))
                for shard in range(state.shards):
                    yield folded(shard, True)


def folded(shard: int, fresh: bool) -> pa.RecordBatch:
    return pa.record_batch([pa.array([shard], pa.int32()), pa.array([fresh])], ["shard", "fresh"])
