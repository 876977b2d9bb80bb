"""The readers' side of a shard: one LMDB read transaction, in which rows, standing and ledger belong together.

A row and its `as_of` must come from the same snapshot: two transactions, or two shards, may stand at two epochs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import TracebackType
from typing import Self

import orjson
import pyarrow as pa

from views.state.environment import Environment
from views.state.keys import NO_PERIOD, is_shortened, row_prefix, shorten, split_row_key, view_prefix
from views.state.layout import RelationLayout, ViewLayout
from views.state.standing import FATES, NOTHING, Standing, Tally, decode_standing, decode_tally
from views.state.versions import (
    decode_superseded,
    seek_versions,
    unpack_batches,
    unpack_versions,
    version_key,
    version_prefix,
)

LEDGER_SHARD = 0
"""Where the quarantine lives, so that counts and refused appends are read in one transaction."""

STANDING = b"standing"
TALLY = b"tally"
SUPERSEDED = b"superseded"
CHANGED = b"changed"
POSITION = b"position"
PERIOD = struct.Struct("<qqq")
QUARANTINE = struct.Struct(">QBH")
HEADER = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class PeriodEntry:
    """A period (or pane) as it was when first used; it is never computed again for old rows. `rows` is what this shard
    has of it."""

    start: int
    end: int
    n: int = 0
    label: str = ""
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A refused append: once, or once per view that refused it as late."""

    sn: int
    fate: str
    reason: str
    body: bytes
    view: str | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """The layouts by name with the ids under which the state keeps them."""

    views: Mapping[str, tuple[int, ViewLayout]]
    relations: Mapping[str, tuple[int, RelationLayout]]


class Snapshot:
    """A context manager; everything it gives is of one moment between two epochs."""

    def __init__(self, environment: Environment, registry: Registry) -> None:
        self._environment = environment
        self._db = environment.databases
        self._registry = registry

    def __enter__(self) -> Self:
        self._txn = self._environment.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._txn.abort()

    def standing(self) -> Standing:
        value = self._txn.get(STANDING, db=self._db.control)
        return decode_standing(value) if value else NOTHING

    def tally(self) -> Tally:
        value = self._txn.get(TALLY, db=self._db.control)
        return decode_tally(value) if value else Tally()

    def position(self) -> int | None:
        """How far a follower has read its log; None for a shard that no follower writes."""
        value = self._txn.get(POSITION, db=self._db.control)
        return int.from_bytes(value, "big") if value else None

    def row(self, view: str, key: bytes, start: int = NO_PERIOD) -> bytes | None:
        """The stored value of a (full) group key in the period or pane that starts at `start`."""
        identity, _ = self._registry.views[view]
        return self._txn.get(row_prefix(identity, start) + shorten(key), db=self._db.rows)

    def rows(self, view: str, start: int | None = None, key: bytes = b"") -> Iterator[tuple[int, bytes, bytes]]:
        """(start, full group key, value) in the order of start and key; of one period or pane, or of all. With a start,
        `key` is what the group keys begin with."""
        identity, layout = self._registry.views[view]
        prefix = view_prefix(identity) if start is None else row_prefix(identity, start) + key
        cursor = self._txn.cursor(self._db.rows)
        found = cursor.set_range(prefix)
        while found:
            key, value = cursor.item()
            if not key.startswith(prefix):
                return
            _, begins, stored = split_row_key(key)
            yield begins, layout.row.tail(value) if is_shortened(stored) else stored, value
            found = cursor.next()

    def starts_of(self, view: str, key: bytes) -> Iterator[int]:
        """The starts under which a (full) group key has a row: two seeks for each start that any key has."""
        identity, stored = self._registry.views[view][0], shorten(key)
        cursor = self._txn.cursor(self._db.rows)
        start = NO_PERIOD
        while cursor.set_range(row_prefix(identity, start) + stored):
            owner, begins, found = split_row_key(cursor.key())
            if owner != identity:
                return
            if begins == start:
                if found == stored:
                    yield start
                start += 1
            else:
                start = begins

    def first_start(self, view: str) -> int | None:
        """The least start that has a row."""
        cursor = self._txn.cursor(self._db.rows)
        prefix = view_prefix(self._registry.views[view][0])
        if not cursor.set_range(prefix) or not cursor.key().startswith(prefix):
            return None
        return split_row_key(cursor.key())[1]

    def last_start(self, view: str) -> int | None:
        """The greatest start that has a row."""
        cursor = self._txn.cursor(self._db.rows)
        prefix = view_prefix(self._registry.views[view][0])
        beyond = view_prefix(self._registry.views[view][0] + 1)
        found = cursor.prev() if cursor.set_range(beyond) else cursor.last()
        if not found or not cursor.key().startswith(prefix):
            return None
        return split_row_key(cursor.key())[1]

    def periods(self, view: str) -> list[PeriodEntry]:
        """The periods or panes of a shared calendar that this shard has rows of, by start."""
        prefix = view_prefix(self._registry.views[view][0])
        cursor = self._txn.cursor(self._db.periods)
        entries: list[PeriodEntry] = []
        found = cursor.set_range(prefix)
        while found:
            key, value = cursor.item()
            if not key.startswith(prefix):
                break
            end, n, rows = PERIOD.unpack_from(value)
            entries.append(PeriodEntry(split_row_key(key)[1], end, n, value[PERIOD.size :].decode(), rows))
            found = cursor.next()
        return entries

    def history(self, relation: str, key: bytes) -> list[tuple[int, bytes]]:
        """(valid from, stored row) of every version of one (full) relation key, oldest first."""
        cursor = self._txn.cursor(self._db.versions)
        return list(seek_versions(cursor, version_prefix(self._registry.relations[relation][0], key)))

    def versions(self, relation: str, keys: Sequence[bytes], places: Sequence[int] | None = None) -> pa.Table:
        """Every version of the given (full) relation keys, one seek each; `@index` is the key's place in `keys`, or
        what `places` says in its stead. Columns: `version_schema`."""
        identity, layout = self._registry.relations[relation]
        cursor = self._txn.cursor(self._db.versions)
        index: list[int] = []
        valid_from: list[int] = []
        values: list[bytes] = []
        for place, key in zip(range(len(keys)) if places is None else places, keys, strict=True):
            for since, value in seek_versions(cursor, version_prefix(identity, key)):
                index.append(place)
                valid_from.append(since)
                values.append(value)
        return unpack_versions(layout, index, valid_from, values)

    def superseded(
        self, relation: str, keys: Sequence[bytes], valid_from: Sequence[int], places: Sequence[int]
    ) -> pa.Table:
        """What stood at these keys and instants before the shard's last epoch put its own versions there."""
        identity, layout = self._registry.relations[relation]
        held = self.replaced_versions()
        found = [
            (place, since, value)
            for place, key, since in zip(places, keys, valid_from, strict=True)
            if (value := held.get(version_key(identity, key, since))) is not None
        ]
        return unpack_versions(layout, [row[0] for row in found], [row[1] for row in found], [row[2] for row in found])

    def scan_versions(self, relation: str, batch: int = 50_000) -> Iterator[pa.Table]:
        """All versions of all rows, for views that join a relation otherwise than on its key; `@index` numbers the
        keys of a batch, and a key's versions never cross batches."""
        identity, layout = self._registry.relations[relation]
        return unpack_batches(layout, self.stored_versions(identity), batch)

    def stored_versions(self, relation: int) -> Iterator[tuple[bytes, bytes]]:
        """Key and value of every version under a relation's id, as they are stored, in the order of the keys."""
        prefix = view_prefix(relation)
        cursor = self._txn.cursor(self._db.versions)
        if cursor.set_range(prefix):
            yield from takewhile(lambda stored: stored[0].startswith(prefix), cursor)

    def replaced_versions(self) -> dict[bytes, bytes]:
        """Key and value of the versions in whose place the last epoch put its own."""
        return decode_superseded(self._txn.get(SUPERSEDED, db=self._db.control) or b"")

    def changed_at(self) -> int:
        """The last epoch that brought a version; 0 where none has."""
        return int.from_bytes(self._txn.get(CHANGED, db=self._db.control) or b"", "big")

    def version_bytes(self) -> int:
        """What all versions take in the file; not counted one by one."""
        stat = self._txn.stat(self._db.versions)
        return int(stat["psize"] * (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]))

    def quarantine(self, fate: str | None = None, limit: int | None = None) -> Iterator[Quarantined]:
        """Refused appends, the latest first (shard LEDGER_SHARD has them all)."""
        cursor = self._txn.cursor(self._db.quarantine)
        found = cursor.last()
        given = 0
        while found and (limit is None or given < limit):
            key, value = cursor.item()
            sn, place, _ = QUARANTINE.unpack(key)
            if fate is None or FATES[place] == fate:
                (length,) = HEADER.unpack_from(value)
                header = orjson.loads(value[4 : 4 + length])
                yield Quarantined(sn, FATES[place], header["reason"], value[4 + length :], header["view"])
                given += 1
            found = cursor.prev()
