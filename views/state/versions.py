"""The version index of relations (chronicle-data-model §2.3): `relation id | key | valid from` -> the row from then on.

A join with the version in force at a chronon is a seek here, O(log |R|). Versions lie in the shard of their key, so
that they are written in the transaction of the epoch that brought them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chronicle.types import DataType, Kind
from views.state.keys import shorten
from views.state.layout import RelationLayout
from views.state.rows import Columns

if TYPE_CHECKING:
    from views.state.environment import Cursor

_FROM = struct.Struct(">Q")
_LENGTHS = struct.Struct("<II")
_SIGN64 = 1 << 63

INDEX, FROM, SN, DELETED = "@index", "@from", "@sn", "@deleted"
"""Columns beside the relation's own in what `versions_of` gives: which of the asked keys, valid from (microseconds),
the sequence number that brought it, and whether it is a delete (its other columns are null but for the key)."""

Int64s = npt.NDArray[np.int64]


class VersionStore(Protocol):
    """Where a map finds the versions that were there before its epoch; tables have the columns of `version_schema`."""

    def versions(self, relation: str, keys: Sequence[bytes] | pa.BinaryArray) -> pa.Table:
        """Every version of many relation keys (`encode_keys` over the relation's key columns), O(log |R|) a key.
        `@index` is the key's place in `keys`."""
        ...

    def superseded(self, relation: str, keys: Sequence[bytes], valid_from: Sequence[int]) -> pa.Table:
        """What stood at these keys and instants before the last epoch, where it put a version of its own there; as
        `versions` gives them."""
        ...

    def scan_versions(self, relation: str) -> Iterator[pa.Table]:
        """All versions of a relation, batch by batch: O(|R|), for views that join it otherwise than on its key."""
        ...


def version_prefix(relation: int, key: bytes) -> bytes:
    return relation.to_bytes(2, "big") + shorten(key)


def version_key(relation: int, key: bytes, valid_from: int) -> bytes:
    return version_prefix(relation, key) + _FROM.pack(valid_from + _SIGN64)


def is_version_of(prefix: bytes, stored: bytes) -> bool:
    """Whether a stored key is of the relation's key that `prefix` is of."""
    return len(stored) == len(prefix) + _FROM.size and stored.startswith(prefix)


def valid_from_in(stored: bytes) -> int:
    valid_from: int = _FROM.unpack_from(stored, len(stored) - _FROM.size)[0]
    return valid_from - _SIGN64


def encode_superseded(versions: Mapping[bytes, bytes | None]) -> bytes:
    """Keys and values of versions, one after another; keys without a value are left out."""
    parts = [(_LENGTHS.pack(len(key), len(value)), key, value) for key, value in versions.items() if value is not None]
    return b"".join(part for each in parts for part in each)


def decode_superseded(encoded: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(encoded):
        key, value = _LENGTHS.unpack_from(encoded, at)
        begin = at + _LENGTHS.size
        at = begin + key + value
        found[encoded[begin : begin + key]] = encoded[begin + key : at]
    return found


def arrow_type(column: DataType) -> pa.DataType:
    match column.kind:
        case Kind.STRING:
            return pa.string()
        case Kind.INT64:
            return pa.int64()
        case Kind.DOUBLE:
            return pa.float64()
        case Kind.BOOL:
            return pa.bool_()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", "UTC")
        case Kind.DATE:
            return pa.date32()
        case Kind.DECIMAL:
            return pa.decimal128(column.precision, column.scale)


def version_schema(layout: RelationLayout) -> pa.Schema:
    """The schema of `versions_of`."""
    own = [pa.field(column.name, arrow_type(column.type)) for column in layout.columns]
    head = [pa.field(INDEX, pa.int32()), pa.field(FROM, pa.int64()), pa.field(SN, pa.int64())]
    return pa.schema([*head, pa.field(DELETED, pa.bool_()), *own])


def pack_versions(layout: RelationLayout, rows: pa.Table, sns: Int64s, deleted: npt.NDArray[np.bool_]) -> list[bytes]:
    """The values to store for version rows; `rows` has the relation's columns (those that are missing are null)."""
    count = len(sns)
    columns: Columns = {SN: sns, DELETED: deleted.astype(np.uint8)}
    for column in layout.columns:
        if column.name in rows.schema.names:
            given = rows.column(column.name).combine_chunks()
            array = given.cast(arrow_type(column.type)) if given.type != arrow_type(column.type) else given
        else:
            array = pa.nulls(count, arrow_type(column.type))
        columns[f"{column.name}?"] = array.is_null().to_numpy(zero_copy_only=False).astype(np.uint8)
        columns[column.name] = _to_field(column.type, array)
    return layout.row.pack(columns, count)


def _to_field(column: DataType, array: pa.Array) -> npt.NDArray[Any]:
    match column.kind:
        case Kind.STRING:
            blobs = np.empty(len(array), dtype=object)
            blobs[:] = array.cast(pa.binary()).fill_null(b"").to_pylist()
            return blobs
        case Kind.BOOL:
            return _buffer(array.cast(pa.uint8()), "u1")
        case Kind.DECIMAL:
            return _buffer(array.cast(pa.decimal128(38, column.scale)), "V16")
        case Kind.DATE:
            return _buffer(array, "<i4")
        case Kind.DOUBLE:
            return _buffer(array, "<f8")
        case Kind.INT64 | Kind.TIMESTAMP:
            return _buffer(array, "<i8")


def _buffer(array: pa.Array, dtype: str) -> npt.NDArray[Any]:
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(data, dtype=dtype)[array.offset : array.offset + len(array)]


def _from_field(column: DataType, values: npt.NDArray[Any], null: npt.NDArray[np.bool_]) -> pa.Array:
    kind = arrow_type(column)
    match column.kind:
        case Kind.STRING:
            return pa.array(values, type=pa.binary(), mask=null).cast(pa.string())
        case Kind.BOOL:
            return pa.array(values.astype(np.bool_), type=kind, mask=null)
        case Kind.DECIMAL:
            valid = pa.array(~null).buffers()[1]
            data = np.ascontiguousarray(values)
            return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(data.tobytes())])
        case Kind.DATE | Kind.TIMESTAMP:
            plain = pa.array(values, type=pa.int32() if column.kind is Kind.DATE else pa.int64(), mask=null)
            return plain.view(kind)
        case Kind.INT64 | Kind.DOUBLE:
            return pa.array(values, type=kind, mask=null)


def unpack_versions(
    layout: RelationLayout, index: Sequence[int], valid_from: Sequence[int], values: Sequence[bytes]
) -> pa.Table:
    schema = version_schema(layout)
    if not values:
        return schema.empty_table()
    columns = layout.row.unpack(values)
    arrays = [
        pa.array(index, type=pa.int32()),
        pa.array(valid_from, type=pa.int64()),
        pa.array(columns[SN]),
        pa.array(columns[DELETED] != 0),
    ]
    for column in layout.columns:
        arrays.append(_from_field(column.type, columns[column.name], columns[f"{column.name}?"] != 0))
    return pa.Table.from_arrays(arrays, schema=schema)


def unpack_batches(layout: RelationLayout, stored: Iterable[tuple[bytes, bytes]], batch: int) -> Iterator[pa.Table]:
    """Stored versions (key, value), in the order of their keys, as tables of some `batch` rows; `@index` numbers the
    keys of a batch, and a key's versions never cross batches."""
    index: list[int] = []
    valid_from: list[int] = []
    values: list[bytes] = []
    before, number = b"", -1
    for key, value in stored:
        if key[: -_FROM.size] != before:
            if len(values) >= batch:
                yield unpack_versions(layout, index, valid_from, values)
                index, valid_from, values, number = [], [], [], -1
            before, number = key[: -_FROM.size], number + 1
        index.append(number)
        valid_from.append(valid_from_in(key))
        values.append(value)
    if values:
        yield unpack_versions(layout, index, valid_from, values)


def seek_versions(cursor: Cursor, prefix: bytes) -> Iterator[tuple[int, bytes]]:
    """(valid from, value) of every version of one key, oldest first."""
    found = cursor.set_range(prefix)
    while found:
        key = cursor.key()
        if not is_version_of(prefix, key):
            return
        yield valid_from_in(key), cursor.value()
        found = cursor.next()
