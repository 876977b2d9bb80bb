"""The streaming source: it tells Spark how far there is something to read, and hands on ranges, never the appends.

Offsets are those of the contract's `status`: {topic: {partition: next offset}}. A query always starts where the ledger
stands, with a new checkpoint: the state is the authority on what has been consumed (design: "Nothing lost").
"""

from __future__ import annotations

import json
import pickle
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from streaming.failures import carried
from streaming.source import Source, SourceAwayError
from views.state import Slot

FORMAT = "chronicle-ranges"

Offsets = Mapping[Slot, int]


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for slot, offset in sorted(offsets.items(), key=lambda item: (item[0].topic, item[0].partition)):
        nested.setdefault(slot.topic, {})[str(slot.partition)] = offset
    return nested


def offsets_from_json(nested: Mapping[str, Mapping[str, int]]) -> dict[Slot, int]:
    return {Slot(topic, int(n)): offset for topic, parts in nested.items() for n, offset in parts.items()}


def limited(start: Offsets, ends: Offsets, most: int, first: Collection[str] = ()) -> dict[Slot, int]:
    """How far to read at most `most` appends: each slot by its share of what is waiting, so that none starves. What
    waits in the topics `first` (of relations) goes before the rest, or tuples would move the clock beyond it."""
    own = {slot: end for slot, end in ends.items() if slot.topic in first}
    if own and len(own) < len(ends):
        found = limited(start, own, most)
        left = most - sum(end - start.get(slot, 0) for slot, end in found.items())
        return limited(start, {slot: end for slot, end in ends.items() if slot not in own}, max(0, left)) | found
    waiting = {slot: max(0, end - start.get(slot, 0)) for slot, end in ends.items()}
    total = sum(waiting.values())
    if total <= most:
        return {slot: start.get(slot, 0) + count for slot, count in waiting.items()}
    return {slot: start.get(slot, 0) + -(-count * most // total) for slot, count in waiting.items()}


class RangesSource(DataSource):
    """Options: `source` (a pickled Source), `start` (offsets), `most` (appends a micro-batch), `first` (topics)."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "topic string, partition int, start bigint, end bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return RangesReader(
            pickle.loads(b64decode(self.options["source"])),
            pickle.loads(b64decode(self.options["start"])),
            int(self.options["most"]),
            frozenset(json.loads(self.options["first"])),
        )


def options_of(source: Source, start: Offsets, most: int, first: Iterable[str] = ()) -> dict[str, str]:
    return {
        "source": b64encode(pickle.dumps(source)).decode(),
        "start": b64encode(pickle.dumps(dict(start))).decode(),
        "most": str(most),
        "first": json.dumps(sorted(first)),
    }


class RangesReader(DataSourceStreamReader):
    def __init__(self, source: Source, start: Offsets, most: int, first: frozenset[str] = frozenset()) -> None:
        self._source = source
        self._start = start
        self._most = most
        self._first = first

    def initialOffset(self) -> dict[str, Any]:
        return offsets_to_json(self._start)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        before = offsets_from_json(start)
        with carried():
            try:
                extents = self._source.extents()
            except SourceAwayError:
                return start  # nothing to read now; the job says so, and asks again
        known = {slot: before.get(slot, extent.earliest) for slot, extent in extents.items()}
        ends = {slot: max(extent.next, known[slot]) for slot, extent in extents.items()}
        return offsets_to_json({**before, **limited(known, ends, self._most, self._first)})

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        before, after = offsets_from_json(start), offsets_from_json(end)
        return [
            InputPartition((slot.topic, slot.partition, before.get(slot, 0), until))
            for slot, until in after.items()
            if until > before.get(slot, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield partition.value

    def commit(self, end: dict[str, Any]) -> None:
        """The ledger is what remembers."""
