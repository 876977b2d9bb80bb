"""An epoch with the Delta store: maps that write files, one commit of all of them, and the job's own index after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, Row

from streaming.delta.commits import Committer
from streaming.delta.compacting import Compactor
from streaming.delta.relations import Relations
from streaming.delta.repair import rebuild
from streaming.delta.tasks import WRITTEN, ClusterGroup, WriteMapped, files_of
from streaming.epochs import SMALL, EpochRunner
from streaming.planning import appends_in
from streaming.source import Reader
from streaming.tasks import Group
from views.kernel.failpoints import reach
from views.kernel.fold import outcome_of
from views.kernel.in_process import ranges_of
from views.replica import Follower, private_index
from views.state import EpochPlan, Stretch
from views.state.storage import Storage


@dataclass(slots=True, kw_only=True)
class DeltaRunner(EpochRunner):
    """`state` is the job's own index, which `follower` keeps; only it is read, and only the table is written."""

    home: Storage
    committer: Committer
    follower: Follower
    compactor: Compactor = field(init=False)
    relations: Relations = field(init=False)
    _frame: tuple[WriteMapped, DataFrame] | None = None

    def __post_init__(self) -> None:
        super(DeltaRunner, self).__post_init__()
        self.compactor = Compactor(self.spark, self.home, self.plan)
        self.relations = Relations(self.spark, frozenset().union(*(view.relations for view in self.plan.views)))

    @property
    def group(self) -> Group:
        own = super(DeltaRunner, self).group  # slots=True makes the class anew: super() would not find it
        if self._is_local:
            return own
        return ClusterGroup(own.state, own.state_id, own.shards, own.plan_id, own.plan, own.map_size, self.home)

    def _mapping(self) -> Group:
        """What the maps of the next epoch need."""
        group = self.group
        return self.relations.reaching(group, self.state) if isinstance(group, ClusterGroup) else group

    def _run(self, epoch: EpochPlan) -> None:
        if self.committer.epoch < epoch.epoch:
            reach("planned")
            files, results = files_of(epoch.epoch, self._written(epoch))
            self.committer.commit(epoch.epoch, files, outcome_of(epoch, results))
            self.compactor.committed()
        self.follower.catch_up()
        reach("folded")

    def _written(self, epoch: EpochPlan) -> list[Row]:
        """What the maps of the epoch wrote. On one machine the frame runs the epoch written down last, for planning it
        costs more than a small epoch's work, and a small one is one task."""
        ranges = len(ranges_of(epoch))
        if not ranges:
            return []
        tasks = 1 if self._is_local and appends_in(epoch) <= SMALL else ranges
        planned = self.state.directory if self._is_local else epoch
        task = WriteMapped(self._mapping(), self.home, planned, self.state.meta.slots, self.source, tasks)
        if self._frame is None or self._frame[0] != task:
            self._frame = (task, self.spark.range(0, tasks, 1, tasks).mapInArrow(task, WRITTEN))
        return self._frame[1].collect()

    def rebuild(self, views: Mapping[str, int], read: Reader, stretches: Iterable[Stretch], most: int) -> None:
        """Followers learn of it by the views' new ids: an index of the old ones is given up for one of the new."""
        self.compactor.wait()
        meta = rebuild(self.home, self.committer, self.plan, self.state, views, read, stretches, most)
        self.follower = Follower(
            self.home, private_index(self.home, self.plan), self.plan, map_size=self.state.map_size
        )
        self.follower.catch_up()
        self.state = replace(self.follower.state, meta=meta, home=self.home)
