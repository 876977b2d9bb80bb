"""What Spark's Kafka connector hands to a Python worker, as the map wants it: a table of messages for each range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.journal import HEADERS_TYPE
from streaming.failures import carried
from streaming.tasks import Batches, Group, folded, nothing, shares
from views.kernel.in_process import fold_all
from views.kernel.map import SlotRange
from views.state import EpochPlan

Parts = Mapping[tuple[int, int], SlotRange]
"""By the topic's number and the partition."""

_TELLING = pa.array(["chronicle", "ce_type", "ce-type", "content-type"])
"""Headers that say what a message is. Others (ids, traces) differ from message to message and are not looked at."""

_PARTITION_BITS = 32


@dataclass(frozen=True, slots=True)
class MapMessages:
    """Rows are the messages of one range, or of several."""

    group: Group
    parts: Parts

    def __call__(self, batches: Batches) -> Batches:
        tables = read_messages(batches, self.parts)
        with carried():
            _, state, kernel = self.group.opened()
            for part, messages in tables:
                yield from shares(kernel.map(part, messages), state.shards)
            if not tables:  # transaction markers alone, or all compacted away: the epoch is folded nevertheless
                yield from nothing(state.shards)


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
    """Headers as a dictionary of the distinct ones; null where a message has none that tell what it is."""
    lists: pa.ListArray = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    pairs = lists.flatten()
    telling = np.flatnonzero(pc.is_in(pairs.field("key"), value_set=_TELLING).to_numpy(zero_copy_only=False))
    indices = np.full(len(lists), -1, np.int32)
    if not len(telling):
        return _dictionary(indices, [])
    pairs = pairs.take(pa.array(telling))
    of_row = np.repeat(np.arange(len(lists)), lists.value_lengths().fill_null(0).to_numpy())[telling]
    rows, of = np.unique(of_row, return_inverse=True)
    entries = _numbers(pairs.field("key")) * len(telling) + _numbers(pairs.field("value"))
    entries = _numbers(pa.array(entries)) + 1
    place = np.arange(len(of)) - np.searchsorted(of, of)  # of an entry among its row's
    codes = np.zeros(len(rows), np.int64)
    for turn in range(int(place.max()) + 1):
        own = place == turn
        added = np.zeros(len(rows), np.int64)
        added[of[own]] = entries[own]
        codes = _numbers(pa.array(codes * (int(entries.max()) + 1) + added))
    indices[rows] = codes
    firsts = rows[np.unique(codes, return_index=True)[1]].tolist()
    names = _TELLING.to_pylist()
    return _dictionary(indices, [[pair for pair in lists[row].as_py() if pair["key"] in names] for row in firsts])


def _numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """A number for each distinct value, from 0 on."""
    encoded = values.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _dictionary(indices: npt.NDArray[np.int32], found: list[list[dict[str, object]]]) -> pa.DictionaryArray:
    numbers = pa.array(indices, pa.int32(), mask=indices < 0)
    return pa.DictionaryArray.from_arrays(numbers, pa.array(found, HEADERS_TYPE))
