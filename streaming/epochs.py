"""An epoch as one Spark job: maps, a shuffle that says where their shares are, folds.

Small epochs on one machine run as a single task: the shuffle and a second Python stage cost more than their work.
"""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from streaming.failures import recognised
from streaming.planning import appends_in
from streaming.source import Reader, Source
from streaming.tasks import FOLDED, MAPPED, FoldShards, Group, MapRanges, WarmUp, WholeEpoch, ignored
from views.kernel.failpoints import reach
from views.kernel.fold import fold, outcome_of
from views.kernel.in_process import ranges_of
from views.kernel.map import SlotRange
from views.kernel.rebuild import rebuild
from views.kernel.relay import ALONE, FileRelay, Relay
from views.plan import GroupPlan
from views.state import EpochPlan, State, Stretch

SMALL = 20_000
"""Appends up to which one task is quicker than two stages."""


def _cut(whole: SlotRange, parts: int) -> list[SlotRange]:
    edges = [whole.start + (whole.end - whole.start) * part // parts for part in range(parts + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]


def _dealt(parts: Sequence[tuple[SlotRange, Relay]], hands: int) -> list[list[tuple[SlotRange, Relay]]]:
    """The parts, in so many hands at most, none much heavier than another: a task more costs 30 ms. A part that waits
    for others is in a hand of its own, for there are no more of these than cores."""
    dealt: list[list[tuple[SlotRange, Relay]]] = [[] for _ in range(min(hands, len(parts)))]
    sizes = [0] * len(dealt)
    for part, relay in sorted(parts, key=lambda each: each[0].start - each[0].end):
        lightest = sizes.index(min(sizes))
        dealt[lightest].append((part, relay))
        sizes[lightest] += part.end - part.start
    return dealt


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
    _planned: tuple[WholeEpoch, Any] | None = None

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

    def warm(self) -> None:
        """Starts the workers and takes both stages of an epoch once through the JVM, with nothing in them: done while
        the query starts, it need not be waited for in the first epoch."""
        cores = self.spark.sparkContext.defaultParallelism
        numbers = self.spark.range(0, cores, 1, cores).mapInArrow(WarmUp(self.group, self.source), MAPPED)
        rows_of(self._placed(numbers, self.spark).mapInArrow(ignored, FOLDED)).count()

    def run(self, epoch: EpochPlan, spark: SparkSession | None = None) -> None:
        """Brings every shard to the epoch, whatever some of them have already. `spark` is the micro-batch's session."""
        with recognised():
            self._run(epoch, spark or self.spark)

    def _run(self, epoch: EpochPlan, session: SparkSession) -> None:
        ranges = ranges_of(epoch, self.state.meta.slots)
        reach("planned")
        if not ranges:
            self._mark(epoch)
        elif self._is_local and appends_in(epoch) <= SMALL:
            self._in_one_task().count()
        else:
            placed = self._placed(self._mapped(session, ranges, epoch), session)
            rows_of(placed.mapInArrow(FoldShards(self.group, epoch), FOLDED)).count()
            shutil.rmtree(self.state.directory / "relay", ignore_errors=True)
        reach("folded")

    def _mapped(self, session: SparkSession, ranges: Sequence[SlotRange], epoch: EpochPlan) -> DataFrame:
        """Where the shares of every range are, which tasks read themselves. A range is cut where there are more cores
        than ranges and no view joins a relation: then all that a part needs of those before it is their clock."""
        directory = (self.state.directory / "relay").absolute()
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        parts: list[tuple[SlotRange, Relay]] = []
        for whole in ranges:
            pieces = _cut(whole, self._pieces(whole, len(ranges)))
            own = [FileRelay(directory, epoch.epoch, whole.slot, number) for number in range(len(pieces))]
            parts += zip(pieces, own if len(pieces) > 1 else [ALONE], strict=True)
        tasks = _dealt(parts, self.spark.sparkContext.defaultParallelism)
        numbers = session.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(MapRanges(self.group, directory, self.source, tasks), MAPPED)

    def _pieces(self, whole: SlotRange, ranges: int) -> int:
        if any(view.relations for view in self.plan.views):
            return 1
        cores = self.spark.sparkContext.defaultParallelism
        return max(1, min(cores // ranges, 1 + (whole.end - whole.start) // (SMALL + 1)))

    def _placed(self, mapped: DataFrame, session: SparkSession) -> DataFrame:
        """The shares of every shard where it is folded."""
        folds = min(self.state.shards, session.sparkContext.defaultParallelism)
        return mapped.repartitionById(folds, (col("shard") % folds).cast("int"))

    def _in_one_task(self) -> Any:
        """The rows that run the epoch written down last; planning them costs more than a small epoch's work."""
        task = WholeEpoch(self.group, self.source, self.state.meta.slots)
        if self._planned is None or self._planned[0] != task:
            self._planned = (task, rows_of(self.spark.range(0, 1, 1, 1).mapInArrow(task, FOLDED)))
        return self._planned[1]

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
