"""What travels from a map to a fold: one blob per shard, a small JSON header and Arrow IPC streams behind it.

    u32 length of the header | header | stream | stream ...

Partials never travel as rows: a shard's share of a view is one record batch, whose columns are the state's fields.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from views.kernel.partials import Changes, Columns, SlotResult, ViewPartials
from views.state import PeriodEntry, Quarantined

_LENGTH = struct.Struct("<I")
_KEY, _VIEW, _START = "@key", "@view", "@start"
_FROM, _SN, _DELETED = "@from", "@sn", "@deleted"


def encode(result: SlotResult) -> bytes:
    """One shard's share of what a map made."""
    compact = [partials.compact() for partials in result.partials]
    views = [_stream(_view_batch(partials)) for partials in compact]
    changes = [_stream(_changes_batch(each)) for each in result.changes.values()]
    refused = [_stream(_quarantine_batch(result.quarantine))] if result.quarantine else []
    header = orjson.dumps(
        {
            "slot": result.slot,
            "next": result.next_offset,
            "clock": result.clock,
            "fates": result.fates,
            "counters": result.counters,
            "views": [
                [partials.views, len(stream), [[p.start, p.end, p.n, p.label] for p in partials.periods]]
                for partials, stream in zip(compact, views, strict=True)
            ],
            "changes": [[name, len(stream)] for name, stream in zip(result.changes, changes, strict=True)],
            "refused": [len(stream) for stream in refused],
        }
    )
    return b"".join((_LENGTH.pack(len(header)), header, *views, *changes, *refused))


def decode(blob: bytes | pa.Buffer) -> SlotResult:
    whole = pa.py_buffer(blob)
    (length,) = _LENGTH.unpack_from(whole)
    header = orjson.loads(memoryview(whole)[_LENGTH.size : _LENGTH.size + length])
    at = _LENGTH.size + length

    def batch(size: int) -> pa.RecordBatch:
        nonlocal at
        stream = whole.slice(at, size)
        at += size
        with pa.ipc.open_stream(stream) as reader:
            return reader.read_next_batch()

    partials = tuple(_partials(tuple(names), batch(size), periods) for names, size, periods in header["views"])
    changes = {name: _changes(batch(size)) for name, size in header["changes"]}
    refused = [each for size in header["refused"] for each in _quarantined(batch(size))]
    return SlotResult(
        header["slot"],
        header["next"],
        header["clock"],
        header["fates"],
        header["counters"],
        tuple(refused),
        partials,
        changes,
    )


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # pyarrow has no types


def _view_batch(partials: ViewPartials) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {_KEY: partials.keys}
    if len(partials.views) > 1:
        columns[_VIEW] = pa.array(partials.of)
    if partials.starts is not None:
        columns[_START] = pa.array(partials.starts)
    for name, values in partials.columns.items():
        columns[name] = pa.array(values, pa.binary()) if values.dtype == object else pa.array(values)
    return pa.record_batch(list(columns.values()), names=list(columns))


def _partials(views: tuple[str, ...], batch: pa.RecordBatch, periods: Sequence[Sequence[Any]]) -> ViewPartials:
    columns: Columns = {}
    for name in batch.schema.names:
        if name not in (_KEY, _VIEW, _START):
            columns[name] = _numpy(batch.column(name))
    of = batch.column(_VIEW).to_numpy() if _VIEW in batch.schema.names else np.zeros(batch.num_rows, np.int32)
    starts = batch.column(_START).to_numpy() if _START in batch.schema.names else None
    return ViewPartials(views, of, batch.column(_KEY), starts, columns, tuple(PeriodEntry(*each) for each in periods))


def _numpy(column: pa.Array) -> np.ndarray[Any, Any]:
    if not pa.types.is_binary(column.type):
        return column.to_numpy()  # type: ignore[no-any-return]  # pyarrow has no types
    blobs = np.empty(len(column), dtype=object)
    blobs[:] = column.to_pylist()
    return blobs


def _changes_batch(changes: Changes) -> pa.RecordBatch:
    beside: Mapping[str, pa.Array] = {
        _KEY: changes.keys,
        _FROM: pa.array(changes.valid_from),
        _SN: pa.array(changes.sns),
        _DELETED: pa.array(changes.deleted),
    }
    rows = changes.rows.combine_chunks()
    own = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in rows.columns]
    return pa.record_batch([*beside.values(), *own], names=[*beside, *rows.column_names])


def _changes(batch: pa.RecordBatch) -> Changes:
    rows = pa.Table.from_batches([batch]).drop_columns([_KEY, _FROM, _SN, _DELETED])
    return Changes(
        batch.column(_KEY),
        batch.column(_FROM).to_numpy(),
        batch.column(_SN).to_numpy(),
        batch.column(_DELETED).to_numpy(zero_copy_only=False),
        rows,
    )


def _quarantine_batch(refused: Sequence[Quarantined]) -> pa.RecordBatch:
    columns = {
        "sn": pa.array([each.sn for each in refused], pa.int64()),
        "fate": pa.array([each.fate for each in refused], pa.string()),
        "reason": pa.array([each.reason for each in refused], pa.string()),
        "body": pa.array([each.body for each in refused], pa.binary()),
        "view": pa.array([each.view for each in refused], pa.string()),
    }
    return pa.record_batch(list(columns.values()), names=list(columns))


def _quarantined(batch: pa.RecordBatch) -> list[Quarantined]:
    return [Quarantined(**row) for row in batch.to_pylist()]
