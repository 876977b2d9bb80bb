"""Compaction as a plain Spark job, a task a shard: from the command line, and by the job every so many epochs."""

from __future__ import annotations

import logging
import os
import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from chronicle.errors import ChronicleError
from streaming.failures import carried, recognised
from streaming.session import open_session
from streaming.tasks import Batches
from views.plan import GroupPlan
from views.replica.compaction import Work, compact, compact_shard, vacuum
from views.replica.table import SNAPSHOT, File
from views.state.storage import Storage

EVERY = 200
"""Epochs after which the job compacts."""

RETAINED_HOURS = 24

_COMPACTED = "path string, size bigint"
_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64())])

_log = logging.getLogger("chronicle.compaction")


@dataclass(frozen=True, slots=True)
class CompactShards:
    """Rows are the numbers of shards; `plan` is a broadcast of the pickled GroupPlan."""

    work: Work
    plan: Any

    def __call__(self, batches: Batches) -> Batches:
        with carried():
            plan: GroupPlan = pickle.loads(self.plan.value)
            for batch in batches:
                for shard in batch.column(0).to_pylist():
                    file = compact_shard(self.work, plan, shard)
                    yield pa.record_batch([[file.path], [file.size]], schema=_SCHEMA)


def compact_in(spark: SparkSession, home: Storage, plan: GroupPlan) -> int:
    """Compacts with at most half of the session's cores: epochs go on meanwhile."""
    shipped = spark.sparkContext.broadcast(pickle.dumps(plan))

    def shards(work: Work, count: int) -> Sequence[File]:
        tasks = max(1, min(count, spark.sparkContext.defaultParallelism // 2))
        numbers = spark.range(0, count, 1, tasks)
        with recognised():
            rows = numbers.mapInArrow(CompactShards(work, shipped), _COMPACTED).collect()
        return [File(SNAPSHOT, work.epoch, row["path"], row["size"]) for row in rows]

    try:
        return compact(home, plan, shards)
    finally:
        shipped.unpersist()


def compact_on(master: str, home: Storage, plan: GroupPlan) -> int:
    """For the command line: a session of its own."""
    spark = open_session(master, "compaction", log=Path(os.devnull))
    try:
        return compact_in(spark, home, plan)
    finally:
        spark.stop()


@dataclass(slots=True)
class Compactor:
    """Compacts in the background every so many epochs; one that fails is tried again after as many."""

    spark: SparkSession
    home: Storage
    plan: GroupPlan
    every: int = EVERY
    _epochs: int = 0
    _thread: threading.Thread | None = field(default=None)

    def committed(self) -> None:
        """Told after every epoch."""
        self._epochs += 1
        if self._epochs >= self.every and (self._thread is None or not self._thread.is_alive()):
            self._epochs = 0
            self._thread = threading.Thread(target=self._compact, name="chronicle-compaction", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Until no compaction is under way."""
        if self._thread is not None:
            self._thread.join()

    def _compact(self) -> None:
        try:
            compact_in(self.spark, self.home, self.plan)
            vacuum(self.home, RETAINED_HOURS)
        except ChronicleError as error:
            _log.warning("compaction: %s", error)
