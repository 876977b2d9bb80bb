"""Compaction: the partials up to an epoch, folded into a snapshot; deferred-view-maintenance's refresh (§3.4).

The partials are the differential tables ∆MV of every view, the snapshot is MV, and the invariant is INV_DT: at every
version of the table, what was summarised up to its last epoch is the snapshot with the partials since it. Deletions ∇MV
are empty, since chronicles only grow (what expires is deleted by the clock, on either side of the equation). A refresh
replaces both by a new MV in one commit with `dataChange: false`. Appends go on meanwhile: theirs are later ones.
Lookups read their own indexes, so the downtime of a view is none.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from chronicle.errors import ChronicleError
from views.kernel.failpoints import reach
from views.kernel.fold import expiries
from views.kernel.partials import SlotResult
from views.kernel.wire import decode, encode
from views.plan import GroupPlan
from views.replica.follower import known_meta, snapshot_ledger
from views.replica.ledger import BEGINNING, LedgerRow, decode_ledger, encode_ledger
from views.replica.snapshots import apply, known_part, parts_of, unknown_part
from views.replica.table import (
    LEDGER,
    NO_SHARD,
    PARTIAL,
    PARTITIONED_BY,
    SCHEMA,
    SNAPSHOT,
    TABLE,
    File,
    active_files,
    open_table,
    read_shares,
    write_file,
)
from views.state import ShardTransaction, State, read_meta
from views.state.environment import close_environment, environment
from views.state.meta import write_meta
from views.state.storage import Storage

_EVERYTHING = 1 << 62


@dataclass(frozen=True, slots=True)
class Work:
    """What one compaction reads: the old snapshot, the partials since, and where that ends."""

    home: Storage
    snapshot: tuple[File, ...]
    partials: tuple[File, ...]
    ledgers: tuple[File, ...]
    total: LedgerRow

    @property
    def epoch(self) -> int:
        return self.total.epoch

    @property
    def replaced(self) -> tuple[File, ...]:
        return (*self.snapshot, *self.partials, *self.ledgers)


Shards = Callable[[Work, int], Sequence[File]]
"""Runs `compact_shard` for every one of so many shards, wherever it likes."""


def compact(home: Storage, plan: GroupPlan, shards: Shards | None = None) -> int:
    """Folds every epoch that is committed now into a snapshot; returns how many it took in, 0 where there are none."""
    table = open_table(home)
    work = work_on(home, table)
    if not work.ledgers:
        return 0
    meta = read_meta(home)
    run = shards or (lambda work, count: [compact_shard(work, plan, shard) for shard in range(count)])
    files = run(work, meta.shards)
    reach("compacting")
    commit_snapshot(table, work, files, meta.group)
    reach("compacted")
    return len(work.ledgers)


def work_on(home: Storage, table: DeltaTable) -> Work:
    """Everything that the table holds, as it was loaded."""
    files = active_files(table)
    of_kind = {kind: tuple(f for f in files if f.kind == kind) for kind in (SNAPSHOT, PARTIAL, LEDGER)}
    before = snapshot_ledger(home, of_kind[SNAPSHOT]) if of_kind[SNAPSHOT] else BEGINNING
    rows = (decode_ledger(blob) for file in of_kind[LEDGER] for _, blob in read_shares(home, file))
    return Work(home, of_kind[SNAPSHOT], of_kind[PARTIAL], of_kind[LEDGER], before.then(rows))


def compact_shard(
    work: Work, plan: GroupPlan, shard: int, anew: Collection[str] = (), built: Iterable[SlotResult] = ()
) -> File:
    """The snapshot of one shard, as a file that is still to be committed. What the table has of the views `anew` is
    left out, and `built` put in its place."""
    with tempfile.TemporaryDirectory(prefix="chronicle-compact-") as directory:
        state = _scratch(Path(directory), work.home, plan, shard)
        try:
            rest = _fold_all(state, plan, work, shard, anew)
            with state.shard(shard).read() as snapshot:
                parts = chain(rest, built, parts_of(snapshot, state.registry))
                return write_file(work.home, SNAPSHOT, work.epoch, ((shard, encode(part)) for part in parts))
        finally:
            close_environment(_shard_path(Path(directory), shard))


def _scratch(directory: Path, home: Storage, plan: GroupPlan, shard: int) -> State:
    write_meta(directory, known_meta(read_meta(home), plan))
    environment(_shard_path(directory, shard), create=True)
    return State.open(directory, plan.view_layouts, plan.relation_layouts)


def _shard_path(directory: Path, shard: int) -> Path:
    return directory / "shards" / f"{shard:02d}"


def _fold_all(state: State, plan: GroupPlan, work: Work, shard: int, anew: Collection[str]) -> list[SlotResult]:
    """Merges everything into the scratch shard; returns what is of views that this definition does not have."""
    rest: list[SlotResult] = []
    views, relations = state.registry.views, state.registry.relations

    def parts() -> Iterator[SlotResult]:
        for file in (*work.snapshot, *work.partials):
            in_order = sorted((decode(blob) for _, blob in read_shares(work.home, file, shard)), key=lambda p: p.slot)
            for part in in_order:
                if (unknown := unknown_part(part, {*views, *anew}, relations)) is not None:
                    rest.append(unknown)
                yield known_part(part, views.keys() - anew, relations, quarantine_of=views)

    def fill(transaction: ShardTransaction) -> None:
        rest.clear()
        apply(transaction, parts())
        known = [view for view in plan.views if view.name in views]
        for view, expired in expiries(known, work.total.outcome).items():
            transaction.expire(view, expired, _EVERYTHING)

    state.shard(shard).replace(work.total.standing, work.total.tally, fill)
    return rest


def commit_snapshot(
    table: DeltaTable, work: Work, shards: Sequence[File], group: str, also: Sequence[Transaction] = ()
) -> None:
    """Puts the shards' snapshots in the place of everything that they were made from, in one commit."""
    files = [*shards, write_file(work.home, SNAPSHOT, work.epoch, [(NO_SHARD, encode_ledger(work.total))])]
    now = time.time_ns() // 1_000_000
    removed: list[AddAction | RemoveAction] = [
        RemoveAction(file.path, False, now, file.size, {"kind": file.kind, "epoch": str(file.epoch)})
        for file in work.replaced
    ]
    added = [file.added(data_change=False) for file in files]
    # of two compactions at once the second would remove what is gone: they are one application's transactions
    properties = CommitProperties(app_transactions=[Transaction(f"{group}/compaction", work.epoch), *also])
    try:
        with work.home.explained():
            table.create_write_transaction(
                [*removed, *added], "append", SCHEMA, PARTITIONED_BY, commit_properties=properties
            )
    except CommitFailedError as error:
        with work.home.explained():
            table.update_incremental()
        if {file.path for file in files} <= {file.path for file in active_files(table)}:
            return  # it is there: only the answer was lost
        raise ChronicleError(
            f"another compaction of {work.home.named(TABLE)} was quicker: {error}", "nothing was changed by this one"
        ) from error


def vacuum(home: Storage, retention_hours: int) -> int:
    """Deletes files that no version of the last hours refers to, also those of tasks that died; returns how many. A
    follower that still wanted one of them fills its index anew from the snapshot."""
    table = open_table(home)
    with home.explained():
        gone = table.vacuum(retention_hours, dry_run=False, enforce_retention_duration=False, full=True)
    return len(gone)
