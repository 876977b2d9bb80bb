"""An epoch as Spark jobs: one of maps and one of folds, whose tasks know what to do from the plan that is written down.

Small epochs on one machine run as a single task: a second job and a second Python stage cost more than their work.
"""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from streaming.failures import recognised
from streaming.planning import appends_in
from streaming.source import Reader, Source
from streaming.tasks import NUMBERS, EpochTask, FoldEpoch, Group, MapEpoch, WarmUp, WholeEpoch, relay_of
from views.kernel.failpoints import reach
from views.kernel.fold import fold, outcome_of
from views.kernel.rebuild import rebuild
from views.plan import GroupPlan
from views.state import EpochPlan, State, Stretch

SMALL = 20_000
"""Appends up to which one task is quicker than two jobs, and parts of a range are not worth their while."""


def rows_of(frame: DataFrame) -> Any:
    """The frame as planned, in the JVM: its `count()` is one Spark job. `collect()` of the frame costs the JVM half as
    much again: it describes the plan to listeners and opens a socket for the rows, which nobody wants."""
    return frame._jdf.queryExecution().toRdd()


@dataclass(slots=True)
class EpochRunner:
    """Runs planned epochs of one state in one Spark session."""

    spark: SparkSession
    plan: GroupPlan
    state: State
    source: Source
    _plan_id: str = field(init=False)
    _shipped: Broadcast[bytes] = field(init=False)
    _planned: dict[type[EpochTask], tuple[EpochTask, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pickled = pickle.dumps(self.plan)
        self._plan_id = hashlib.sha256(pickled).hexdigest()
        self._shipped = self.spark.sparkContext.broadcast(pickled)

    @property
    def group(self) -> Group:
        """What tasks need, by the state as it is now: new ids of views make workers open it anew."""
        state_id = f"{self.state.meta.id}-{self.state.meta.next_id}"
        state = self.state
        return Group(state.directory.absolute(), state_id, state.shards, self._plan_id, self._shipped, state.map_size)

    @property
    def cores(self) -> int:
        return int(self.spark.sparkContext.defaultParallelism)

    def warm(self) -> None:
        """Starts the workers and takes a job once through the JVM, with nothing in it: done while the query starts, it
        need not be waited for in the first epoch."""
        self._do(WarmUp(self.group, self.source), self.cores)

    def run(self, epoch: EpochPlan) -> None:
        """Brings every shard to the epoch, whatever some of them have already."""
        with recognised():
            self._run(epoch)

    def _run(self, epoch: EpochPlan) -> None:
        reach("planned")
        if not appends_in(epoch):
            self._mark(epoch)
        elif self._is_local and appends_in(epoch) <= SMALL:
            self._do(WholeEpoch(self.group, self.source, self.state.meta.slots), 1)
        else:
            self._in_two_jobs()
        reach("folded")

    def _in_two_jobs(self) -> None:
        folds = min(self.state.shards, self.cores)
        relay = relay_of(self.group)
        shutil.rmtree(relay, ignore_errors=True)
        relay.mkdir()
        self._do(MapEpoch(self.group, self.source, self.state.meta.slots, self.cores, SMALL), self.cores)
        self._do(FoldEpoch(self.group, folds), folds)
        shutil.rmtree(relay, ignore_errors=True)

    def _do(self, task: EpochTask, tasks: int) -> None:
        """Runs tasks with the numbers from 0 on. Planning a frame costs more than a small epoch's work."""
        held = self._planned.get(type(task))
        if held is None or held[0] != task:
            frame = self.spark.range(0, tasks, 1, tasks).mapInArrow(task, NUMBERS)
            held = self._planned[type(task)] = (task, rows_of(frame))
        held[1].count()

    def _mark(self, epoch: EpochPlan) -> None:
        """An epoch that reads nothing and only moves the clocks of idle slots."""
        outcome = outcome_of(epoch, ())
        for shard in range(self.state.shards):
            fold(self.plan, self.state, shard, epoch, outcome, ())

    def rebuild(self, views: Mapping[str, int], read: Reader, stretches: Iterable[Stretch], most: int) -> None:
        """Builds these views (as `to_rebuild` gives them) anew from the appends of the stretches."""
        self.state = rebuild(self.plan, self.state, views, read, stretches, most)

    @property
    def _is_local(self) -> bool:
        return str(self.spark.sparkContext.master).startswith("local")
