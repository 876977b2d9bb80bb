"""A follower tails a Delta state into an index of its own: the same fold, the same state, one commit after the other.

The version of the table that a shard has come to is stored in the transaction of its rows, so a follower that is killed
goes on where each shard is. Versions that a clean-up took from the log, or whose files a vacuum took, are never
skipped: the index is then filled anew from the table's latest snapshot, each shard in one transaction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronicle.errors import ChronicleError
from views.kernel.failpoints import reach
from views.kernel.fold import fold
from views.kernel.wire import decode
from views.plan import GroupPlan
from views.replica.ledger import LedgerRow, decode_ledger
from views.replica.snapshots import apply, known_part
from views.replica.table import (
    LEDGER,
    NO_SHARD,
    PARTIAL,
    SNAPSHOT,
    TABLE,
    File,
    active_files,
    is_overtaken,
    open_table,
    read_commit,
    read_shares,
)
from views.state import EpochPlan, Meta, NoStateError, ShardTransaction, State, read_meta
from views.state.environment import MAP_SIZE, environment
from views.state.meta import META, write_meta
from views.state.storage import Storage


class OtherViewsError(ChronicleError):
    """The state has other views, or under other ids, than the index was made for: they go into another index."""

    def __init__(self, index: Path) -> None:
        super().__init__(f"the views of the state are not those of the index {index} any more", "start again")


_ATTEMPTS = 5
"""How often a rebuild starts over because a vacuum took a file that it was about to read."""


def known_meta(meta: Meta, plan: GroupPlan, *, views: bool = True) -> Meta:
    """What of a state an index holds: the views and relations that the plan has, with the meaning that they have there.
    Without `views` only relations and the ledger: all that a map needs."""
    prints = {layout.name: layout.fingerprint for layout in plan.view_layouts} if views else {}
    relations = {layout.name: layout.fingerprint for layout in plan.relation_layouts}
    return replace(
        meta,
        views={name: each for name, each in meta.views.items() if prints.get(name) == each.fingerprint},
        relations={name: each for name, each in meta.relations.items() if relations.get(name) == each.fingerprint},
    )


@dataclass(slots=True)
class Follower:
    """`home` is the Delta state, `index` the directory that follows it. Several may work on one index."""

    home: Storage
    index: Path
    plan: GroupPlan
    views: bool = True
    map_size: int = MAP_SIZE
    _stamp: str | None = None
    _state: State | None = None
    _version: int | None = None
    _glanced: float = -math.inf
    _plan: GroupPlan = field(init=False)

    def __post_init__(self) -> None:
        self._plan = self.plan

    @property
    def state(self) -> State:
        """The index, as the state's registry was when it was last looked at."""
        return self._state or self._looked()

    def _looked(self) -> State:
        """The index, as the state's registry is now."""
        stamp = self.home.stamp(META)
        if self._state is None or stamp != self._stamp:
            self._state = self._adopted(known_meta(read_meta(self.home), self.plan, views=self.views))
            self._stamp = stamp
        return self._state

    @property
    def epoch(self) -> int:
        """What every shard of the index has."""
        return min(standing.epoch for standing in self.state.standings())

    def catch_up(self) -> int:
        """Folds what the table has and the index has not; returns how many epochs were new. What rarely changes, the
        registry and a log that was cleaned, is looked at with every commit, and otherwise now and then."""
        folded, glances = 0, time.monotonic() >= self._glanced + self.home.glance
        state = self._looked() if glances else self.state
        while True:
            if self._version is None:
                self._version = _position(state)
            if self._version is None:
                return folded + self._rebuilt(state)
            commit = read_commit(self.home, self._version + 1)
            if commit is None:
                if glances:
                    self._glanced = time.monotonic()
                    folded += self._rebuilt(state) if is_overtaken(self.home, self._version + 1) else 0
                return folded
            state = self._looked()  # the commit may be the first of a slot that was registered just before it
            if commit.epoch is not None and commit.epoch > self.epoch:
                try:
                    self._fold_epoch(state, commit.files, commit.version)
                except FileNotFoundError:
                    return folded + self._rebuilt(state)
                folded += 1
            self._version = commit.version

    def _fold_epoch(self, state: State, files: Iterable[File], version: int | None) -> None:
        ledger, shares = read_epoch(self.home, files)
        views, relations = state.registry.views, state.registry.relations
        reach("following")
        for shard in range(state.shards):
            results = [known_part(decode(blob), views, relations) for blob in shares[shard]]
            fold(
                self._plan,
                state,
                shard,
                EpochPlan(ledger.epoch, ()),
                ledger.outcome,
                results,
                committed_at=ledger.committed_at,
                position=version,
            )

    def _rebuilt(self, state: State) -> int:
        for attempt in range(_ATTEMPTS):
            try:
                return self._from_table(state)
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _from_table(self, state: State) -> int:
        table = open_table(self.home)
        files = active_files(table)
        before = self.epoch
        snapshot = [file for file in files if file.kind == SNAPSHOT]
        if snapshot:
            self._load(state, snapshot)
        by_epoch: dict[int, list[File]] = {}
        for file in files:
            if file.kind != SNAPSHOT:
                by_epoch.setdefault(file.epoch, []).append(file)
        for epoch in sorted(by_epoch):
            if epoch > self.epoch:
                self._fold_epoch(state, by_epoch[epoch], None)
        self._stand_at(state, table.version())
        return self.epoch - before

    def _load(self, state: State, files: Sequence[File]) -> None:
        """Fills the shards that are not as far as the snapshot."""
        ledger = snapshot_ledger(self.home, files)
        for shard in range(state.shards):

            def work(transaction: ShardTransaction, shard: int = shard) -> None:
                views, relations = state.registry.views, state.registry.relations
                blobs = (blob for file in files for _, blob in read_shares(self.home, file, shard))
                apply(transaction, (known_part(decode(blob), views, relations) for blob in blobs))

            if state.shard(shard).standing().epoch < ledger.epoch:
                state.shard(shard).replace(ledger.standing, ledger.tally, work)

    def _stand_at(self, state: State, version: int) -> None:
        """Only now: a follower that is killed while it fills an index would otherwise pass over what it lacks."""
        for shard in range(state.shards):
            state.shard(shard).extend(lambda transaction: transaction.put_position(version))
        self._version = version

    def _adopted(self, meta: Meta) -> State:
        """The index for this meta, made if it is not there."""
        try:
            held = read_meta(self.index)
        except NoStateError:
            held = None
        if held is not None and held.id != meta.id:
            raise ChronicleError(
                f"{self.index} is an index of another state", "name another directory, or remove this one first"
            )
        if held is not None and (held.views != meta.views or held.relations != meta.relations):
            raise OtherViewsError(self.index)
        for shard in range(meta.shards):
            environment(self.index / "shards" / f"{shard:02d}", create=True, map_size=self.map_size)
        if held != meta:
            write_meta(self.index, meta)
        self._plan = self.plan.only(meta.views.keys())
        return State.open(self.index, self._plan.view_layouts, self.plan.relation_layouts, self.map_size)


def _position(state: State) -> int | None:
    """The version that every shard has come to; None where one has not begun."""
    positions = []
    for index in range(state.shards):
        with state.shard(index).read() as snapshot:
            positions.append(snapshot.position())
    known = [position for position in positions if position is not None]
    return min(known) if len(known) == state.shards else None


def read_epoch(home: Storage, files: Iterable[File]) -> tuple[LedgerRow, dict[int, list[bytes]]]:
    """An epoch's ledger row, and its blobs by shard (every shard has some, or there are none at all)."""
    ledger: LedgerRow | None = None
    shares: dict[int, list[bytes]] = _Lists()
    for file in files:
        for shard, blob in read_shares(home, file):
            if file.kind == LEDGER:
                ledger = decode_ledger(blob)
            elif file.kind == PARTIAL:
                shares[shard].append(blob)
    if ledger is None:
        raise ChronicleError(f"an epoch at {home.named(TABLE)} has no ledger row", "the table was changed by others")
    return ledger, shares


class _Lists(dict[int, list[bytes]]):
    def __missing__(self, key: int) -> list[bytes]:
        self[key] = []
        return self[key]


def snapshot_ledger(home: Storage, files: Iterable[File]) -> LedgerRow:
    """Where a snapshot stands."""
    for file in files:
        for _, blob in read_shares(home, file, NO_SHARD):
            return decode_ledger(blob)
    raise ChronicleError(f"the snapshot at {home.named(TABLE)} has no ledger row", "the table was changed by others")
