"""What Spark's Kafka connector hands to a Python worker, as the map wants it: a table of messages for each range."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa

from chronicle.journal import HEADERS_TYPE
from streaming.failures import carried
from streaming.tasks import Batches, Group, folded, nothing, shares
from views.kernel.in_process import fold_all
from views.kernel.map import SlotRange
from views.state import EpochPlan

Parts = Mapping[tuple[int, int], SlotRange]
"""By the topic's number and the partition."""

_PARTITION_BITS = 32


@dataclass(frozen=True, slots=True)
class MapMessages:
    """Rows are the messages of one range, or of several."""

    group: Group
    parts: Parts

    def __call__(self, batches: Batches) -> Batches:
        tables = read_messages(batches, self.parts)
        with carried():
            kernel = self.group.kernel()
            for part, messages in tables:
                yield from shares(kernel.map(part, messages), self.group.shards)
            if not tables:  # transaction markers alone, or all compacted away: the epoch is folded nevertheless
                yield from nothing(self.group.shards)


@dataclass(frozen=True, slots=True)
class MessagesEpoch:
    """Rows are all messages of a small epoch: it is mapped and folded in one task."""

    group: Group
    epoch: EpochPlan
    parts: Parts

    def __call__(self, batches: Batches) -> Batches:
        tables = read_messages(batches, self.parts)
        with carried():
            plan, state, kernel = self.group.opened()
            fold_all(plan, state, self.epoch, [kernel.map(part, messages) for part, messages in tables])
            for shard in range(state.shards):
                yield folded(shard, True)


def read_messages(batches: Batches, parts: Parts) -> list[tuple[SlotRange, pa.Table]]:
    """The messages of each range that has some, in the order of their offsets."""
    read = [batch for batch in batches if batch.num_rows]
    if not read:
        return []
    table = pa.Table.from_batches(read)
    topics, partitions = table.column("topic").to_numpy(), table.column("partition").to_numpy()
    ids = (topics.astype(np.int64) << _PARTITION_BITS) | partitions
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])).tolist()
    pieces: dict[int, list[pa.Table]] = {}
    for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
        pieces.setdefault(int(ids[start]), []).append(table.slice(start, end - start))
    return [
        (parts[number >> _PARTITION_BITS, number & ((1 << _PARTITION_BITS) - 1)], _messages(pa.concat_tables(own)))
        for number, own in pieces.items()
    ]


def no_messages() -> pa.Table:
    headers = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], HEADERS_TYPE))
    plain = {"offset": pa.int64(), "timestamp": pa.int64(), "key": pa.binary()}
    columns = {name: pa.array([], type_) for name, type_ in plain.items()}
    return pa.table({**columns, "headers": headers, "value": pa.array([], pa.binary())})


def _messages(rows: pa.Table) -> pa.Table:
    headers = distinct_headers(rows.column("headers").combine_chunks())
    columns = {
        "offset": rows.column("offset"),
        "timestamp": rows.column("timestamp"),
        "key": pa.nulls(rows.num_rows, pa.binary()),
        "headers": headers,
        "value": rows.column("value"),
    }
    return pa.table(columns)


def distinct_headers(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Headers, which come as JSON (see `telling_headers`), as a dictionary of the distinct ones; null where there is
    none."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = texts.dictionary_encode()
    found = [_pairs(text) for text in encoded.dictionary.to_pylist()]
    numbers = np.cumsum([bool(pairs) for pairs in found], dtype=np.int32) - 1
    numbers = np.append(np.where([bool(pairs) for pairs in found], numbers, -1), -1).astype(np.int32)
    indices = numbers[encoded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)]
    told = pa.array([pairs for pairs in found if pairs], HEADERS_TYPE)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), told)


def _pairs(text: str) -> list[dict[str, object]]:
    return [
        {"key": pair["key"], "value": b64decode(pair["value"]) if "value" in pair else None}
        for pair in orjson.loads(text)
    ]
