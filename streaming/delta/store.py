"""A Delta state as a job opens it: the registry in `meta.json`, the table, a term, and the job's own index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

from chronicle.errors import ChronicleError
from chronicle.project import Project
from streaming.delta.commits import Committer
from streaming.delta.runner import DeltaRunner
from streaming.source import Source
from views.plan import GroupPlan
from views.replica import Follower, is_delta, private_index
from views.state import EpochLog, Meta, NoStateError, State, read_meta
from views.state.environment import MAP_SIZE
from views.state.meta import new_meta, register, register_slots, replace_meta
from views.state.storage import Storage
from views.state.store import refuse_changes


@dataclass(frozen=True, slots=True)
class DeltaState:
    """`state` is the job's own index, with the registry of the Delta state at `home`."""

    home: Storage
    state: State
    committer: Committer
    follower: Follower

    def of_journal(self, identity: str) -> DeltaState:
        return replace(self, state=self.state.of_journal(identity))

    def runner(self, spark: SparkSession, plan: GroupPlan, source: Source) -> DeltaRunner:
        return DeltaRunner(
            spark, plan, self.state, source, home=self.home, committer=self.committer, follower=self.follower
        )


def open_delta(project: Project, plan: GroupPlan, topics: Mapping[str, int], *, map_size: int = MAP_SIZE) -> DeltaState:
    """Under this machine's lock: begins a term, brings the index up to the last commit, registers what is new."""
    home = project.home
    meta = _meta(home, project)
    refuse_changes(home, meta, plan.view_layouts, plan.relation_layouts)
    committer = Committer.begin(home, meta)
    since = _high_waters(Follower(home, private_index(home, plan), plan, map_size=map_size)) if committer.epoch else {}
    prints = {layout.name: layout.fingerprint for layout in plan.view_layouts}
    relations = {layout.name: layout.fingerprint for layout in plan.relation_layouts}
    wanted = register_slots(register(meta, prints, relations, since), topics)
    if wanted != meta:
        replace_meta(home, meta, wanted)
    follower = Follower(home, private_index(home, plan), plan, map_size=map_size)
    follower.catch_up()
    _refuse_later(follower, committer)
    _forget_foreign_plans(follower.index, committer.epoch)
    return DeltaState(home, replace(follower.state, meta=wanted, home=home), committer, follower)


def _meta(home: Storage, project: Project) -> Meta:
    definition = project.definition
    try:
        meta = read_meta(home)
    except NoStateError:
        meta = new_meta(definition.name, definition.shards, version("tzdata"), "delta")
        replace_meta(home, None, meta)
    if meta.group != definition.name:
        raise ChronicleError(
            f"the state at {home} belongs to the group {meta.group}, not to {definition.name}", "give --state another"
        )
    if meta.views and not is_delta(home):
        raise ChronicleError(
            f"{home} has no table: it is an index that follows a Delta state, or the table is gone",
            "name the Delta state with --state, or restore its table",
        )
    return meta


def _high_waters(follower: Follower) -> dict[str, int]:
    """The offsets up to which views that are new have seen nothing."""
    follower.catch_up()
    standing = follower.state.shard(0).standing()
    return {str(slot): at.next_offset for slot, at in standing.slots.items()}


def _refuse_later(follower: Follower, committer: Committer) -> None:
    if follower.epoch > committer.epoch:
        raise ChronicleError(
            f"the state {committer.home} has epoch {committer.epoch}, and its index {follower.index} {follower.epoch}",
            "where the state was put back from a backup: remove this index, and those of followers, and start again",
        )


def _forget_foreign_plans(index: Path, epoch: int) -> None:
    """Plans that do not fit the last commit were overtaken by another job's: an epoch is all or nothing here, so none
    of them is needed."""
    path = index / "plans.json"
    planned = EpochLog(index).latest()
    if planned is not None and planned.epoch not in (epoch, epoch + 1):
        path.unlink()
