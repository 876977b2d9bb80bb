"""What runs in Spark's Python workers with the Delta store: a map, and its shares into one file of the table.

No shuffle: the fold is the followers'. A file is no part of the table before the driver commits it, so a task may run
twice or die anywhere; what it leaves behind is vacuumed.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from streaming.failures import carried
from streaming.source import Source
from streaming.tasks import Batches, Group, spare_the_collector
from views.kernel.failpoints import reach
from views.kernel.in_process import ranges_of
from views.kernel.map import MapKernel
from views.kernel.partials import SlotResult
from views.kernel.wire import encode
from views.plan import GroupPlan
from views.replica import Follower
from views.replica.table import PARTIAL, File, Share, write_file
from views.state import EpochLog, EpochPlan, HeldVersions, Slot, read_meta
from views.state.storage import Storage

WRITTEN = "path string, size bigint, ledger binary"
"""A file, and the ledger's part of the maps whose shares are in it."""

_WRITTEN = pa.schema([("path", pa.string()), ("size", pa.int64()), ("ledger", pa.binary())])


@dataclass(frozen=True, slots=True)
class ClusterGroup(Group):
    """On a cluster no disk is shared but that of the Delta state `home`, or none: a worker has nothing to open. `held`
    is a Spark broadcast of the HeldVersions that views join."""

    home: Storage
    held: Any = None

    def kernel(self) -> MapKernel:
        kernel = _kernel_of(self)
        if self.held is not None:
            kernel.stored = self.held.value
        return kernel


@dataclass(frozen=True, slots=True)
class FollowingGroup(ClusterGroup):
    """A worker's machine follows the relations into an index of its own, brought up to the last epoch before the
    map."""

    def kernel(self) -> MapKernel:
        kernel = _kernel_of(self)
        key = _key_of(self)
        if key not in _following:
            _following.clear()
            plan: GroupPlan = pickle.loads(self.plan.value)
            _following[key] = Follower(self.home, _worker_index(self.home, self.plan_id), plan, False, self.map_size)
        _following[key].catch_up()
        kernel.stored = _following[key].state
        return kernel


_Key = tuple[int, str, str, str]
_kernels: dict[_Key, MapKernel] = {}
_following: dict[_Key, Follower] = {}


def _key_of(group: ClusterGroup) -> _Key:
    return os.getpid(), str(group.home), group.state_id, group.plan_id


def _kernel_of(group: ClusterGroup) -> MapKernel:
    key = _key_of(group)
    if key not in _kernels:
        _kernels.clear()
        _kernels[key] = MapKernel(pickle.loads(group.plan.value), HeldVersions())
        spare_the_collector()
    return _kernels[key]


def _worker_index(home: Storage, plan_id: str) -> Path:
    return Path(tempfile.gettempdir()) / f"chronicle-{os.getuid()}" / read_meta(home).id / plan_id[:12]


@dataclass(frozen=True, slots=True)
class WriteMapped:
    """Rows are the numbers of tasks; each maps its share of an epoch's ranges and writes a file. The epoch is
    `planned`, or the one that is written down last in that directory of this machine."""

    group: Group
    home: Storage
    planned: EpochPlan | Path
    slots: tuple[Slot, ...]
    source: Source
    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            kernel = self.group.kernel()
            epoch = EpochLog(self.planned).latest() if isinstance(self.planned, Path) else self.planned
            assert epoch is not None  # it is written down before it is run
            ranges = ranges_of(epoch, self.slots)
            for batch in batches:
                parts = [part for number in batch.column(0).to_pylist() for part in ranges[number :: self.tasks]]
                results = list(map(kernel.map, parts, self.source.read_together(parts)))
                yield from written(self.home, epoch.epoch, shares_of(results, self.group.shards), results)


def shares_of(results: Sequence[SlotResult], shards: int) -> list[Share]:
    apart = [result.of_shards(shards) for result in results]
    return [(shard, encode(shares[shard])) for shard in range(shards) for shares in apart]


def written(home: Storage, epoch: int, shares: Sequence[Share], results: Iterable[SlotResult]) -> Batches:
    """A file with the shares, told to the driver; none where there are none."""
    if not shares:
        return
    file = write_file(home, PARTIAL, epoch, shares)
    reach("written")
    ledger = [[each.slot, each.next_offset, each.clock, each.fates, each.counters] for each in results]
    yield pa.record_batch([[file.path], [file.size], [orjson.dumps(ledger)]], schema=_WRITTEN)


def files_of(epoch: int, rows: Iterable[Any]) -> tuple[list[File], list[SlotResult]]:
    """What the tasks told: the files, and what their maps have for the ledger."""
    files: list[File] = []
    results: list[SlotResult] = []
    for row in rows:
        files.append(File(PARTIAL, epoch, row["path"], row["size"]))
        for slot, next_offset, clock, fates, counters in orjson.loads(bytes(row["ledger"])):
            results.append(SlotResult(slot, next_offset, clock, fates, counters, (), (), {}))
    return files, results
