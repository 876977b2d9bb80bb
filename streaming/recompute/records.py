"""Where the retained chronicle is read from: one row per message, with Kafka's columns, whatever the source.

A reader gives a DataFrame of RECORDS; everything after it is the same for the journal, for Kafka and for the lists of
records that tests make.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, col, concat_ws, create_map, lit, unix_micros

from chronicle.journal import Journal
from chronicle.kafka.topics import Cluster
from streaming.recompute.connector import reading_options
from views.state import Slot

RECORDS = "slot INT, offset BIGINT, timestamp BIGINT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, value BINARY"
"""`timestamp` is when the journal or the broker took the message, in microseconds."""

ARROW_RECORDS = pa.schema(
    [
        pa.field("slot", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        pa.field("value", pa.binary()),
    ]
)

_RANGE = 50_000
"""Records that one task reads at a time."""


Ranges = Mapping[int, tuple[Slot, int, int]]
"""By slot its topic-partition, and the offsets [first, last)."""


class Message(Protocol):
    """A record of the journal, or of the reference evaluator."""

    @property
    def slot(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...
    @property
    def value(self) -> bytes | None: ...


def journal_records(spark: SparkSession, path: Path, first: int, last: int) -> DataFrame:
    """The appends [first, last) of a journal; the tasks read its files themselves."""
    ranges = [(begin, min(begin + _RANGE, last)) for begin in range(first, last, _RANGE)]
    directory = str(path.resolve())

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        with Journal.open(directory, create=False) as journal:
            for batch in batches:
                for begin, end in zip(batch["first"].to_pylist(), batch["last"].to_pylist(), strict=True):
                    yield from _with_slot(journal.read_arrow(begin, end)).to_batches()

    asked = spark.createDataFrame(ranges, "first BIGINT, last BIGINT").repartition(max(1, len(ranges)))
    return asked.mapInArrow(read, RECORDS)


def kafka_records(spark: SparkSession, clusters: Iterable[Cluster], ranges: Ranges) -> DataFrame:
    """The messages of these ranges, of transactions what is committed; a task reads a topic-partition."""
    read = listed_records(spark, ())
    for cluster in clusters:
        own = {
            slot: (number, first, last)
            for number, (slot, first, last) in ranges.items()
            if slot.topic in cluster.topics
        }
        if own:
            offsets = {slot: (first, last) for slot, (_, first, last) in own.items()}
            messages = spark.read.format("kafka").options(**reading_options(cluster, offsets)).load()
            numbers = [
                lit(each) for slot, (number, _, _) in own.items() for each in (f"{slot.topic}-{slot.partition}", number)
            ]
            number = create_map(*numbers)[concat_ws("-", "topic", "partition")]
            taken_at = coalesce(unix_micros("timestamp"), lit(0))
            read = read.unionAll(
                messages.select(number.alias("slot"), "offset", taken_at.alias("timestamp"), col("headers"), "value")
            )
    return read


def listed_records(spark: SparkSession, messages: Iterable[Message]) -> DataFrame:
    """Messages that are at hand."""
    rows = [
        {
            "slot": each.slot,
            "offset": each.offset,
            "timestamp": each.timestamp,
            "headers": [{"key": key, "value": value} for key, value in each.headers],
            "value": each.value,
        }
        for each in messages
    ]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=ARROW_RECORDS), RECORDS)


def _with_slot(table: Any) -> Any:
    """The journal's columns as RECORDS: its headers are a dictionary, which is looked up here."""
    batches = []
    for batch in table.to_batches():
        headers = batch["headers"].dictionary.take(batch["headers"].indices)
        columns = [pa.array([0] * batch.num_rows, pa.int32()), batch["offset"], batch["timestamp"]]
        batches.append(pa.table([*columns, headers, batch["value"]], names=ARROW_RECORDS.names).cast(ARROW_RECORDS))
    return pa.concat_tables([ARROW_RECORDS.empty_table(), *batches])
