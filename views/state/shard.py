"""The fold's side of a shard: one LMDB transaction per epoch with rows, versions, quarantine, standing and counts.

How the fold kernel uses it, in the process that owns the shard for this task:

    state = State.open(directory)                      # cheap, cached per process
    def work(shard: ShardTransaction) -> None:         # may run twice: when the map had to grow
        shard.put_versions("customers", keys, valid_from, sns, deleted, rows)
        shard.merge(["usage"], keys, columns, starts, periods)
        shard.quarantine(refused)                      # on shard LEDGER_SHARD only
        shard.expire("usage", expired, limit=50_000)
    state.shard(n).write(epoch, outcome, work)         # False: the shard has this epoch already, nothing was done

Every shard is written once per epoch, with the same outcome, even if it gets no rows: its standing says what its rows
reflect.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from chronicle.errors import ChronicleError
from views.state.environment import Environment
from views.state.keys import NO_PERIOD, row_prefix, split_row_key, view_prefix
from views.state.layout import PERIOD_END, Periods, ViewLayout
from views.state.partials import sorted_partials
from views.state.snapshot import (
    CHANGED,
    HEADER,
    PERIOD,
    POSITION,
    QUARANTINE,
    STANDING,
    SUPERSEDED,
    TALLY,
    PeriodEntry,
    Quarantined,
    Registry,
    Snapshot,
)
from views.state.standing import (
    FATES,
    NOTHING,
    Outcome,
    Standing,
    Tally,
    add_outcome,
    decode_standing,
    decode_tally,
    encode_standing,
    encode_tally,
)
from views.state.versions import encode_superseded, pack_versions, version_key

if TYPE_CHECKING:
    from views.state.environment import Transaction

Int64s = npt.NDArray[np.int64]


class ShardTransaction:
    """What `Shard.write` hands to the fold. Nothing is visible before the whole of it is."""

    def __init__(self, transaction: Transaction, environment: Environment, registry: Registry) -> None:
        self._txn = transaction
        self._db = environment.databases
        self._registry = registry
        self._cursor = transaction.cursor(self._db.rows)
        self.added: dict[int, int] = {}
        self.superseded: dict[bytes, bytes | None] = {}

    def merge(
        self,
        views: Sequence[str],
        keys: pa.BinaryArray,
        columns: Mapping[str, npt.NDArray[Any]],
        starts: Int64s | None = None,
        periods: Iterable[PeriodEntry] = (),
        of: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Folds partials into the rows of a view, or of several that are laid out alike.

        `keys`: full group keys (`encode_keys`), in any order, repeats allowed. `columns`: the layout's state columns
        (`state_column(aggregate, field)`; with a keyed calendar also PERIOD_END). `starts`: the period's or pane's
        start of each row, None for views without periods. `periods`: the periods or panes behind the starts, for a
        calendar that all keys share. `of`: each row's view by its place in `views`, None for the first.
        """
        rows = len(keys)
        if rows == 0:
            return
        if of is None:
            of = np.zeros(rows, dtype=np.int32)
        layout = self._registry.views[views[0]][1]
        identities = np.array([self._registry.views[view][0] for view in views], dtype=np.uint16)[of]
        if starts is None:
            starts = np.full(rows, NO_PERIOD, dtype=np.int64)
        partials = sorted_partials(layout, identities, keys, starts, columns)
        get = self._cursor.get
        found = [get(key) for key in partials.keys]
        values, fresh = self._merged(layout, found, partials.columns)
        for place, full in partials.tails.items():
            values[place] += full
            if (old := found[place]) is not None and layout.row.tail(old) != full:
                view = views[of[partials.rows[place]]]
                raise ChronicleError(f"two keys of view {view} have the same 128-bit hash", "report this: it is a bug")
        self._cursor.putmulti(zip(partials.keys, values, strict=True))
        new = partials.rows[fresh]
        for (identity,), count in _runs(identities[new]):
            self.added[identity] = self.added.get(identity, 0) + count
        if layout.periods is Periods.SHARED:
            self._count_periods(identities[new], starts[new], periods)

    @staticmethod
    def _merged(
        layout: ViewLayout, found: Sequence[bytes | None], columns: Mapping[str, npt.NDArray[Any]]
    ) -> tuple[list[bytes], npt.NDArray[np.bool_]]:
        if None not in found:
            merged = layout.merge(layout.row.unpack(found), columns)  # type: ignore[arg-type]  # none is None here
            return layout.row.pack(merged, len(found)), np.zeros(len(found), np.bool_)
        fresh = np.fromiter((value is None for value in found), dtype=np.bool_, count=len(found))
        if fresh.all():
            return layout.row.pack(columns, len(found)), fresh
        known = np.flatnonzero(~fresh)
        old = layout.row.unpack([value for value in found if value is not None])
        merged = layout.merge(old, {name: values[known] for name, values in columns.items()})
        both = {name: values.copy() for name, values in columns.items()}
        for name, values in merged.items():
            both[name][known] = values
        return layout.row.pack(both, len(found)), fresh

    def _count_periods(self, views: npt.NDArray[np.uint16], starts: Int64s, periods: Iterable[PeriodEntry]) -> None:
        entries = {entry.start: entry for entry in periods}
        for (view, start), rows in _runs(views, starts):
            key = row_prefix(view, start)
            held = self._txn.get(key, db=self._db.periods)
            if held is None:
                entry = entries[start]
                value = PERIOD.pack(entry.end, entry.n, rows) + entry.label.encode()
            else:
                end, n, before = PERIOD.unpack_from(held)
                value = PERIOD.pack(end, n, before + rows) + held[PERIOD.size :]
            self._txn.put(key, value, db=self._db.periods)

    def put_versions(
        self,
        relation: str,
        keys: Sequence[bytes],
        valid_from: Int64s,
        sns: Int64s,
        deleted: npt.NDArray[np.bool_],
        rows: pa.Table,
    ) -> None:
        """Adds versions of rows whose (full, encoded) relation keys belong to this shard. Of two with one `valid_from`
        the later one stays; what stood there before the epoch is kept until the next, for a repeat of this one."""
        identity, layout = self._registry.relations[relation]
        values = pack_versions(layout, rows, sns, deleted)
        order = np.argsort(sns, kind="stable").tolist()
        for row in order:
            key = version_key(identity, keys[row], int(valid_from[row]))
            if key not in self.superseded:
                self.superseded[key] = self._txn.get(key, db=self._db.versions)
            self._txn.put(key, values[row], db=self._db.versions)

    def quarantine(self, refused: Iterable[Quarantined]) -> None:
        for each in refused:
            view = self._registry.views[each.view][0] if each.view is not None else 0
            key = QUARANTINE.pack(each.sn, FATES.index(each.fate), view)
            header = orjson.dumps({"reason": each.reason, "view": each.view})
            self._txn.put(key, HEADER.pack(len(header)) + header + each.body, db=self._db.quarantine)

    def put_position(self, position: int) -> None:
        """How far a follower has read the log that the epoch comes from."""
        self._txn.put(POSITION, position.to_bytes(8, "big"), db=self._db.control)

    def drop(self, identity: int) -> None:
        """Deletes every row and period that is stored under an id."""
        prefix = view_prefix(identity)
        for database in (self._db.rows, self._db.periods):
            cursor = self._txn.cursor(database)
            while cursor.set_range(prefix) and cursor.key().startswith(prefix):
                cursor.delete()

    def expire(self, view: str, expired: Callable[[int, int], bool], limit: int) -> int:
        """Deletes rows of the oldest periods as long as `expired(start, end)` holds, at most `limit` of them, and says
        how many. What is left over goes in a later epoch; lookups judge by the clock and do not wait for it."""
        identity, layout = self._registry.views[view]
        match layout.periods:
            case Periods.NONE:
                return 0
            case Periods.SHARED:
                gone = self._expire_shared(identity, expired, limit)
            case Periods.KEYED:
                gone = self._expire_keyed(identity, layout, expired, limit)
        if gone:
            self.added[identity] = self.added.get(identity, 0) - gone
        return gone

    def _expire_shared(self, view: int, expired: Callable[[int, int], bool], limit: int) -> int:
        gone = 0
        directory = self._txn.cursor(self._db.periods)
        while gone < limit and directory.set_range(row_prefix(view)):
            key, value = directory.item()
            identity, start, _ = split_row_key(key)
            end, n, rows = PERIOD.unpack_from(value)
            if identity != view or not expired(start, end):
                break
            deleted = self._delete_period(key, limit - gone)
            gone += deleted
            if gone < limit or deleted == rows:
                directory.delete()
            else:
                directory.put(key, PERIOD.pack(end, n, rows - deleted) + value[PERIOD.size :])
        return gone

    def _delete_period(self, prefix: bytes, limit: int) -> int:
        gone = 0
        found = self._cursor.set_range(prefix)
        while found and gone < limit and self._cursor.key().startswith(prefix):
            found = self._cursor.delete() and bool(self._cursor.key())
            gone += 1
        return gone

    def _expire_keyed(self, view: int, layout: ViewLayout, expired: Callable[[int, int], bool], limit: int) -> int:
        """In order of start, up to the first row whose period is not over; ends follow starts closely enough."""
        read, place = layout.row.reader(), layout.row.read_order.index(PERIOD_END)
        gone = 0
        found = self._cursor.set_range(row_prefix(view))
        while found and gone < limit:
            key, value = self._cursor.item()
            identity, start, _ = split_row_key(key)
            if identity != view or not expired(start, read(value)[place]):
                break
            found = self._cursor.delete() and bool(self._cursor.key())
            gone += 1
        return gone


@dataclass(frozen=True, slots=True)
class Shard:
    index: int
    environment: Environment
    registry: Registry

    def read(self) -> Snapshot:
        """A consistent view of the shard, to be used in a `with`."""
        return Snapshot(self.environment, self.registry)

    def standing(self) -> Standing:
        with self.read() as snapshot:
            return snapshot.standing()

    def write(
        self,
        epoch: int,
        outcome: Outcome,
        work: Callable[[ShardTransaction], None],
        committed_at: int | None = None,
    ) -> bool:
        """Runs the epoch's work and commits it durably with its outcome; False where the shard has it already."""
        self.environment.env.reader_check()  # a reader that was killed would keep old pages for ever
        while True:
            try:
                return self._attempt(epoch, outcome, work, committed_at)
            except lmdb.MapFullError:
                self.environment.grow()
            except lmdb.Error as error:
                raise _explained(error, self) from error

    def extend(self, work: Callable[[ShardTransaction], None]) -> None:
        """Adds rows outside of any epoch, for views that nobody reads yet; durable, and counted."""
        while True:
            try:
                with self.environment.begin(write=True) as transaction:
                    control = self.environment.databases.control
                    shard = ShardTransaction(transaction, self.environment, self.registry)
                    work(shard)
                    held = transaction.get(TALLY, db=control)
                    tally = add_outcome(decode_tally(held) if held else Tally(), Outcome({}), shard.added)
                    transaction.put(TALLY, encode_tally(tally), db=control)
                return
            except lmdb.MapFullError:
                self.environment.grow()

    def replace(self, standing: Standing, tally: Tally, work: Callable[[ShardTransaction], None]) -> bool:
        """Empties the shard and fills it anew in one transaction: readers see the old rows or the new ones. False, and
        nothing done, where the shard has come as far as `standing` already. The rows of the tally are counted here."""
        while True:
            try:
                with self.environment.begin(write=True) as transaction:
                    databases = self.environment.databases
                    held = transaction.get(STANDING, db=databases.control)
                    if held and decode_standing(held).epoch >= standing.epoch:
                        return False
                    for database in databases.all:
                        transaction.drop(database, delete=False)
                    shard = ShardTransaction(transaction, self.environment, self.registry)
                    work(shard)
                    counted = add_outcome(tally, Outcome({}), shard.added)
                    transaction.put(TALLY, encode_tally(counted), db=databases.control)
                    transaction.put(STANDING, encode_standing(standing), db=databases.control)
                    transaction.put(CHANGED, _epoch(standing.epoch), db=databases.control)
                return True
            except lmdb.MapFullError:
                self.environment.grow()
            except lmdb.Error as error:
                raise _explained(error, self) from error

    def _attempt(
        self, epoch: int, outcome: Outcome, work: Callable[[ShardTransaction], None], committed_at: int | None
    ) -> bool:
        with self.environment.begin(write=True) as transaction:
            held = transaction.get(STANDING, db=self.environment.databases.control)
            before = decode_standing(held) if held else NOTHING
            if before.epoch >= epoch:
                return False
            if before.epoch != epoch - 1:
                raise ChronicleError(
                    f"shard {self.index} stands at epoch {before.epoch} and cannot take epoch {epoch}",
                    f"epoch {before.epoch + 1} has to be repeated first, or the shard restored from a backup",
                )
            control = self.environment.databases.control
            shard = ShardTransaction(transaction, self.environment, self.registry)
            work(shard)
            held = transaction.get(TALLY, db=control)
            tally = add_outcome(decode_tally(held) if held else Tally(), outcome, shard.added)
            now = time.time_ns() // 1000 if committed_at is None else committed_at
            transaction.put(TALLY, encode_tally(tally), db=control)
            transaction.put(STANDING, encode_standing(Standing(epoch, now, outcome.slots)), db=control)
            transaction.put(SUPERSEDED, encode_superseded(shard.superseded), db=control)
            if shard.superseded:
                transaction.put(CHANGED, _epoch(epoch), db=control)
        return True


def _epoch(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _runs(*columns: npt.NDArray[Any]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The values of rows that follow each other and are equal, and how many rows; sorted columns have a run a value."""
    rows = len(columns[0])
    if rows == 0:
        return
    begins = np.concatenate(([0], 1 + np.flatnonzero(np.any([c[1:] != c[:-1] for c in columns], axis=0))))
    counts = np.diff(np.concatenate((begins, [rows])))
    for *values, count in zip(*(column[begins].tolist() for column in columns), counts.tolist(), strict=True):
        yield tuple(values), count


def _explained(error: lmdb.Error, shard: Shard) -> ChronicleError:
    if getattr(error, "code", 0) == errno.ENOSPC or "No space left" in str(error):
        hint = "free some space and start the job again: it continues exactly where it stopped"
        return ChronicleError(f"the disk of shard {shard.environment.path} is full", hint)
    return ChronicleError(f"shard {shard.environment.path} cannot be written: {error}", "nothing of the epoch was kept")
