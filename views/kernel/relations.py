"""Relations in the map: the versions that the epoch's tuples may join, from the index of all shards and from the
epoch's own changes, as tables of [from, to) for SQL.

An admitted change is from after the clock before it, so no earlier tuple can fall into its validity: to see all changes
of the epoch at once is the same as to see each in its turn (chronicle-data-model §2.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.sequence import MAX_SLOTS, SLOT_BITS
from chronicle.types import DataType
from views.kernel.decoded import AT, GONE, PLACE, SINCE, Int64s
from views.plan import RelationPlan
from views.plan.steps import RANK, VALID_FROM, VALID_TO
from views.state import VersionStore, encode_keys
from views.state.versions import DELETED, FROM, INDEX, SN, version_schema

FOREVER = np.iinfo(np.int64).max
_KEY = "@key"


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions by key, oldest first, one per (key, from): `table` has the columns of `version_schema`, `keys` the
    encoded key of each row and `until` where the next version of the same key begins."""

    table: pa.Table
    keys: pa.BinaryArray
    until: Int64s


@dataclass(slots=True)
class RelationIndex:
    """Reads relations for one slot's range. `own` are the admitted changes of the range (decoded, with SINCE). `known`
    are the high waters by slot: what a first attempt of this epoch has left in the store beyond them is not seen."""

    stored: VersionStore
    relations: Mapping[str, RelationPlan]
    own: Mapping[str, pa.Table]
    sns: Int64s
    known: Mapping[int, int] = field(default_factory=dict)
    _overlays: dict[str, tuple[pa.Table, pa.BinaryArray]] = field(default_factory=dict)

    def versions_of(self, relation: str, key_types: Sequence[DataType], keys: pa.Table) -> Versions:
        """All versions of these keys (columns in the order of the relation's key)."""
        encoded = encode_keys(key_types, keys.columns, keys.num_rows)
        stored = self.stored.versions(relation, encoded)
        found = encoded.take(stored.column(INDEX).combine_chunks())
        return self._together(relation, stored, found, wanted=encoded)

    def all_versions(self, relation: str) -> Versions:
        layout = self.relations[relation].layout
        stored = pa.concat_tables(
            [version_schema(layout).empty_table(), *self.stored.scan_versions(relation)]
        ).combine_chunks()
        keys = encode_keys(layout.key_types, [stored.column(name) for name in layout.key], stored.num_rows)
        return self._together(relation, stored, keys, wanted=None)

    def _together(
        self, relation: str, stored: pa.Table, keys: pa.BinaryArray, wanted: pa.BinaryArray | None
    ) -> Versions:
        table = self._before_the_epoch(relation, stored.append_column(_KEY, keys))
        if relation in self.own:
            rows, own_keys = self._overlay(relation)
            overlay = rows.append_column(_KEY, own_keys)
            if wanted is not None:
                overlay = overlay.filter(pc.is_in(own_keys, value_set=wanted))
            table = pa.concat_tables([table, overlay])
        # stable: of one key and one instant the state has one version, and the range's own come after it
        return _latest(table.sort_by([(_KEY, "ascending"), (FROM, "ascending")]).combine_chunks())

    def _before_the_epoch(self, relation: str, stored: pa.Table) -> pa.Table:
        """The versions as they were before this epoch, of which a repeat finds some replaced by its first attempt."""
        if not self.known or not stored.num_rows:
            return stored
        sns = stored.column(SN).to_numpy()
        until = np.zeros(MAX_SLOTS, np.int64)
        until[list(self.known)] = list(self.known.values())
        there = (sns >> SLOT_BITS) < until[sns & (MAX_SLOTS - 1)]
        if there.all():
            return stored
        own = stored.filter(pa.array(~there))
        keys = own.column(_KEY).combine_chunks()
        older = self.stored.superseded(relation, keys.to_pylist(), own.column(FROM).to_pylist())
        older = older.append_column(_KEY, keys.take(older.column(INDEX).combine_chunks()))
        return pa.concat_tables([stored.filter(pa.array(there)), older])

    def _overlay(self, relation: str) -> tuple[pa.Table, pa.BinaryArray]:
        """The range's own changes of a relation as versions, with their encoded keys."""
        if relation not in self._overlays:
            layout, changes = self.relations[relation].layout, in_order(self.own[relation])
            schema = version_schema(layout)
            beside = {
                INDEX: pa.array(np.zeros(changes.num_rows, np.int32)),
                FROM: changes.column(SINCE),
                SN: pa.array(self.sns[changes.column(AT).to_numpy()]),
                DELETED: changes.column(GONE),
            }
            columns = [beside[name] if name in beside else changes.column(name) for name in schema.names]
            table = pa.table(columns, schema=schema)
            keys = encode_keys(layout.key_types, [table.column(name) for name in layout.key], table.num_rows)
            self._overlays[relation] = (table, keys)
        return self._overlays[relation]


def in_order(changes: pa.Table) -> pa.Table:
    """Changes in the order in which they were appended: of two with one valid_from the later wins."""
    return changes.sort_by([(AT, "ascending"), (PLACE, "ascending")])


def _latest(table: pa.Table) -> Versions:
    """Of equal (key, from) the last row; and where each version ends."""
    count = table.num_rows
    keys = table.column(_KEY).combine_chunks()
    keys = keys.chunk(0) if isinstance(keys, pa.ChunkedArray) and keys.num_chunks else keys
    if count == 0:
        return Versions(table.drop_columns([_KEY]), pa.array([], pa.binary()), np.empty(0, np.int64))
    same_key = _equal_neighbours(keys)
    since = table.column(FROM).to_numpy()
    last = np.append(~(same_key & (since[1:] == since[:-1])), True)
    if not last.all():
        kept = np.flatnonzero(last)
        table, keys, since = table.take(pa.array(kept)), keys.take(pa.array(kept)), since[kept]
        same_key = _equal_neighbours(keys)
    until = np.append(np.where(same_key, since[1:], FOREVER), FOREVER)
    return Versions(table.drop_columns([_KEY]), keys, until)


def _equal_neighbours(keys: pa.BinaryArray) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False), dtype=np.bool_)


def in_force_table(versions: Versions, between: tuple[int, int], names: Mapping[str, str], *, ranked: bool) -> pa.Table:
    """What SQL joins: the versions that are rows (not deletes) and in force at some instant of `between`, inclusive.

    `names` are further names for columns: those by which a key join calls the key. Ranks are by key.
    """
    since = versions.table.column(FROM).to_numpy()
    there = ~versions.table.column(DELETED).to_numpy(zero_copy_only=False)
    there = there & (since <= between[1]) & (versions.until > between[0])
    table = versions.table.drop_columns([INDEX, FROM, SN, DELETED])
    instants = pa.timestamp("us", "UTC")
    table = table.append_column(VALID_FROM, pa.array(since).view(instants))
    table = table.append_column(VALID_TO, pa.array(np.minimum(versions.until, between[1] + 1)).view(instants))
    for name, column in names.items():
        table = table.append_column(name, table.column(column))
    if ranked:
        fresh = np.append(np.zeros(min(1, len(since)), np.int64), ~_equal_neighbours(versions.keys))
        table = table.append_column(RANK, pa.array(np.cumsum(fresh).astype(np.int64)))
    return table.filter(pa.array(there))
