"""Messages to appends, by the exact decoder, in Spark's workers: one row per message, its tuples in arrays.

| column                     | is                                                                          |
|----------------------------|-----------------------------------------------------------------------------|
| slot, offset, timestamp    | of the message                                                              |
| chronon                    | microseconds; null where there is none                                      |
| malformed                  | why it is, null where it is not                                             |
| future                     | whether the chronon is further ahead than max_skew                          |
| `c:NAME`                   | the tuples of chronicle NAME                                                |
| `r:NAME`                   | the changes of relation NAME, with `@from`, `@deleted` and their place `@nth` |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from calendars import UTC, Duration, add_on_wall_clock
from chronicle.appends import Append, Group, Malformed, group_of
from chronicle.appends.topics import TopicDecoder, topic_decoder
from chronicle.arrow import arrow_type, spark_type
from chronicle.definitions import Definition
from chronicle.types import Column

_HEAD = (
    pa.field("slot", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.int64()),
    pa.field("chronon", pa.int64()),
    pa.field("malformed", pa.string()),
    pa.field("future", pa.bool_()),
)
_HEAD_DDL = "slot INT, offset BIGINT, timestamp BIGINT, chronon BIGINT, malformed STRING, future BOOLEAN"
_CHANGE = (pa.field("@from", pa.int64()), pa.field("@deleted", pa.bool_()), pa.field("@nth", pa.int32()))
_CHANGE_DDL = "`@from`: BIGINT, `@deleted`: BOOLEAN, `@nth`: INT"


def chronicle_column(name: str) -> str:
    return f"c:{name}"


def relation_column(name: str) -> str:
    return f"r:{name}"


def decoded(records: DataFrame, definition: Definition, topics: Sequence[str]) -> DataFrame:
    """`topics` are those of the slots: a relation's own says what its messages are."""
    group, skew = group_of(definition), definition.max_skew
    schema = _arrow_schema(group)

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        decoders = [topic_decoder(definition, topic) for topic in topics]
        for batch in batches:
            rows = [_row(decoders[record["slot"]], skew, record) for record in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return records.mapInArrow(decode, _ddl(group))


def _row(decoder: TopicDecoder, max_skew: Duration, record: Mapping[str, Any]) -> dict[str, Any]:
    head: dict[str, Any] = {name: record[name] for name in ("slot", "offset", "timestamp")}
    headers = [(pair["key"], pair["value"]) for pair in record["headers"] or ()]
    try:
        append = decoder.decode(record["value"], headers, head["timestamp"])
    except Malformed as malformed:
        return {**head, "malformed": malformed.reason, "future": False}
    latest = add_on_wall_clock(UTC, head["timestamp"], max_skew)
    head |= {"chronon": append.chronon, "future": append.chronon is not None and append.chronon > latest}
    tuples = {chronicle_column(name): rows for name, rows in append.tuples.items()}
    return {**head, **tuples, **_changes(append)}


def _changes(append: Append) -> dict[str, list[dict[str, Any]]]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for nth, change in enumerate(append.changes):
        stated = {"@from": change.valid_from, "@deleted": change.op == "delete", "@nth": nth}
        changes.setdefault(relation_column(change.relation), []).append({**change.row, **stated})
    return changes


def _arrow_schema(group: Group) -> Any:
    def rows(columns: Iterable[Column], *more: Any) -> Any:
        return pa.list_(pa.struct([*more, *(pa.field(column.name, arrow_type(column.type)) for column in columns)]))

    fields = [pa.field(chronicle_column(name), rows(each.schema.columns)) for name, each in group.chronicles.items()]
    fields += [
        pa.field(relation_column(name), rows(each.schema.columns, *_CHANGE)) for name, each in group.relations.items()
    ]
    return pa.schema([*_HEAD, *fields])


def _ddl(group: Group) -> str:
    def rows(columns: Iterable[Column], *more: str) -> str:
        fields = [*more, *(f"`{column.name}`: {spark_type(column.type)}" for column in columns)]
        return f"ARRAY<STRUCT<{', '.join(fields)}>>"

    chronicles = [f"`{chronicle_column(n)}` {rows(each.schema.columns)}" for n, each in group.chronicles.items()]
    relations = [
        f"`{relation_column(n)}` {rows(each.schema.columns, _CHANGE_DDL)}" for n, each in group.relations.items()
    ]
    return ", ".join((_HEAD_DDL, *chronicles, *relations))
