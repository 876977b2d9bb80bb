"""How the versions of relations reach the workers of a cluster: small ones are sent, large ones followed there."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from pyspark import Broadcast
from pyspark.sql import SparkSession

from streaming.delta.tasks import ClusterGroup, FollowingGroup
from views.state import HeldVersions, State
from views.state.held import HELD_BELOW


@dataclass(slots=True)
class Relations:
    """`joined` are those that some view joins. What is sent is sent again only when an epoch has changed a version."""

    spark: SparkSession
    joined: frozenset[str]
    held_below: int = HELD_BELOW
    _changed_at: tuple[int, ...] | None = None
    _held: Broadcast[HeldVersions] | None = None

    def reaching(self, group: ClusterGroup, state: State) -> ClusterGroup:
        """The group with the versions as they are now, for the next epoch. No task of the one before runs any more."""
        if not self.joined:
            return group
        changed_at = state.versions_changed_at()
        if changed_at != self._changed_at:
            self._renew(state)
            self._changed_at = changed_at
        if self._held is not None:
            return replace(group, held=self._held)
        return FollowingGroup(*(getattr(group, each.name) for each in fields(group)))

    def _renew(self, state: State) -> None:
        if self._held is not None:
            self._held.destroy()
            self._held = None
        if state.version_bytes < self.held_below:
            self._held = self.spark.sparkContext.broadcast(state.held_versions(self.joined))
