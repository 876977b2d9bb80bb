"""What runs in Spark's Python workers: a map, a fold, or a small epoch whole. Functions of Arrow batches, no Spark.

A worker lives for many epochs: the plan is unpickled, the state opened and DuckDB connected once.
"""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streaming.dealing import dealt
from streaming.failures import carried
from streaming.source import Source
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import fold_all, ranges_of
from views.kernel.map import MapKernel
from views.kernel.partials import SlotResult
from views.kernel.wire import decode, encode
from views.plan import GroupPlan
from views.state import EpochPlan, Slot, State

NUMBERS = "id bigint"
"""What tasks get, and give back."""

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
            yield from batches


@dataclass(frozen=True, slots=True)
class MapEpoch:
    """Rows are the numbers of hands, each with parts of the epoch's ranges (`dealt`). The share of every shard is left
    in a file for its fold, which sees the state's directory too: no share passes through the JVM."""

    group: Group
    source: Source
    slots: tuple[Slot, ...]
    hands: int
    least: int

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            plan, state, kernel = self.group.opened()
            epoch, directory = planned(state), relay_of(self.group)
            divisible = not any(view.relations for view in plan.views)
            ranges = ranges_of(epoch, self.slots)
            hands = dealt(ranges, self.hands, self.least, directory, epoch.epoch, divisible=divisible)
            for batch in batches:
                for hand in batch.column(0).to_pylist():
                    for place, (part, relay) in enumerate(hands[hand] if hand < len(hands) else ()):
                        result = kernel.map(part, self.source.read(part), relay)
                        for shard, share in enumerate(result.of_shards(state.shards)):
                            _leave(directory / f"share-{shard}-{hand}-{place}", encode(share))
                yield batch


def _leave(path: Path, share: bytes) -> None:
    """It is there whole, whichever attempt of the task wrote it last."""
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    beside.write_bytes(share)
    beside.rename(path)


@dataclass(frozen=True, slots=True)
class FoldEpoch:
    """Rows are numbers of folds, each with some of the shards; the maps are done."""

    group: Group
    folds: int

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            plan, state, _ = self.group.opened()
            epoch, directory = planned(state), relay_of(self.group)
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    for shard in range(number, state.shards, self.folds):
                        results = [_left(path) for path in sorted(directory.glob(f"share-{shard}-*"))]
                        fold(plan, state, shard, epoch, outcome_of(epoch, results), results)
                yield batch


def _left(path: Path) -> SlotResult:
    with pa.memory_map(str(path)) as file:
        return decode(file.read_buffer())


@dataclass(frozen=True, slots=True)
class WholeEpoch:
    """A small epoch, mapped and folded in one task: two jobs would cost more than the work."""

    group: Group
    source: Source
    slots: tuple[Slot, ...]

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            plan, state, kernel = self.group.opened()
            for batch in batches:
                epoch = planned(state)
                ranges = ranges_of(epoch, self.slots)
                messages = self.source.read_together(ranges)
                fold_all(plan, state, epoch, list(map(kernel.map, ranges, messages)))
                yield batch


EpochTask = WarmUp | MapEpoch | FoldEpoch | WholeEpoch
"""None holds anything of an epoch: it is the one that is written down last. So Spark plans each frame once, and runs it
again and again."""


def planned(state: State) -> EpochPlan:
    epoch = state.epochs.latest()
    assert epoch is not None  # it is written down before it is run
    return epoch


def relay_of(group: Group) -> Path:
    """Where the tasks of an epoch leave things for each other; it is empty before."""
    return group.state / "relay"
