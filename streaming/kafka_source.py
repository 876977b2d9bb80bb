"""Kafka as the job's source. How far there is something to read the brokers say by kafka-python; the messages of an
epoch are read by Spark's own connector as a batch with exactly the offsets of its plan, one task per topic-partition.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import orjson
import pyarrow as pa
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import (
    KafkaError,
    LeaderNotAvailableError,
    RetriableError,
    UnknownError,
    UnknownTopicOrPartitionError,
    for_code,
)
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import coalesce, col, lit, to_json, unix_micros, when
from pyspark.sql.functions import filter as kept

from chronicle.definitions import Definition
from chronicle.kafka.client import client_options, explained, patience_of
from chronicle.kafka.topics import Cluster, clusters_of, compacted_topics
from streaming.kafka_messages import MapMessages, MessagesEpoch, Parts, no_messages, read_messages
from streaming.source import Extent, Extents, OffsetsGoneError, SourceAwayError
from streaming.tasks import FOLDED, MAPPED, Group
from views.kernel.map import SlotRange
from views.state import EpochPlan, Slot
from views.state.storage import Storage

Answer = TypeVar("Answer")

_ANSWER_MS = 5_000
"""How long one question may take. Whether to ask again is the job's to say."""

_IDS = "topics.json"
"""Beside the state: the id of every topic that it was made from."""

_EARLIEST, _LATEST = -2, -1
_READ_COMMITTED = "read_committed"

_TELLING = ("chronicle", "ce_type", "ce-type", "content-type")
_REQUEST_MS = 15_000
_READING = {
    "max.poll.records": "50000",
    "max.partition.fetch.bytes": str(16 << 20),
    "fetch.max.bytes": str(64 << 20),
    "fetch.max.wait.ms": "5",
}
"""What reading in bulk wants. `fetch.min.bytes` stays as it is: more of it can stall. What an epoch reads is there, so
a broker need not wait for more: a consumer asks ahead, and with Kafka's 500 ms each partition would cost as much."""


class TopicMissingError(SourceAwayError):
    """The cluster answers and does not have a topic: it may be made later, or the broker is still starting."""

    worth_waiting = 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What the brokers say of the group's topics: the offsets that they hold, and the id that each topic has for life;
    None from a broker too old to give one."""

    extents: Extents
    ids: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """`ids` are those of the topics that the state was made from; one made anew under the same name is refused."""

    clusters: tuple[Cluster, ...]
    ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, definition: Definition) -> KafkaSource:
        return cls(tuple(clusters_of(definition)))

    def extents(self) -> Extents:
        return self.look().extents

    def partitions(self) -> dict[str, int]:
        """How many each topic has."""
        return dict(Counter(slot.topic for slot in self.extents()))

    def settled(self, home: Storage) -> KafkaSource:
        """This source for the job of a state, and no other topics of the same names from now on."""
        known: dict[str, str] = {}

        def change(written: bytes | None) -> bytes:
            known.clear()
            known.update(orjson.loads(written) if written else {})
            found = {topic: each for topic, each in replace(self, ids=known).look().ids.items() if each is not None}
            if written is not None and found.items() <= known.items():
                return written
            known.update(found)
            return orjson.dumps(known, option=orjson.OPT_INDENT_2)

        home.update(_IDS, change)
        return replace(self, ids=known)

    def known_to(self, home: Storage) -> KafkaSource:
        """This source, where no topic that the state was made from may be another by now."""
        try:
            return replace(self, ids=orjson.loads(home.read(_IDS)))
        except FileNotFoundError:
            return replace(self, ids={})

    @property
    def compacted(self) -> set[str]:
        """The topics that may forget messages in their middle; asked once."""
        for cluster in self.clusters:
            if (key := (cluster.servers, cluster.topics)) not in _compacted:
                _compacted[key] = _ask(cluster, compacted_topics)
        return {topic for cluster in self.clusters for topic in _compacted[cluster.servers, cluster.topics]}

    def look(self) -> Seen:
        extents: dict[Slot, Extent] = {}
        ids: dict[str, str | None] = {}
        for cluster in self.clusters:
            seen = _ask(cluster, _answer)
            extents |= seen.extents
            ids |= seen.ids
        anew = sorted(topic for topic, known in self.ids.items() if ids.get(topic) not in (None, known))
        if anew:
            raise made_anew(anew)
        return Seen(extents, ids)


def made_anew(topics: Sequence[str]) -> OffsetsGoneError:
    named = ", ".join(topics)
    return OffsetsGoneError(
        f"the topic {named} was deleted and made anew: its offsets are not those that the ledger counts on",
        "restore the topic and run again; or go on with the new one in a new state, with --state",
    )


_compacted: dict[tuple[str, tuple[str, ...]], set[str]] = {}

_clients: dict[tuple[int, int, str, str], Any] = {}
"""By process and thread: a client is closed by the one that it failed."""


def _ask(cluster: Cluster, question: Callable[[KafkaAdminClient, Sequence[str]], Answer]) -> Answer:
    """The answer about the cluster's topics; SourceAwayError where there is none now."""
    options = orjson.dumps(cluster.options, option=orjson.OPT_SORT_KEYS).decode()
    key = (os.getpid(), threading.get_ident(), cluster.servers, options)
    try:
        if key not in _clients:
            asking = {**client_options(cluster.servers, cluster.options, _ANSWER_MS), "request_timeout_ms": _ANSWER_MS}
            _clients[key] = KafkaAdminClient(**asking)
        return question(_clients[key], cluster.topics)
    except UnknownTopicOrPartitionError as error:
        raise TopicMissingError(
            f"Kafka at {cluster.servers} has no topic {error.args[0]}", "`chronicle topics create` makes it"
        ) from None
    except (RetriableError, UnknownError, OSError) as error:  # unknown: what a broker says while it stops
        _forget(key)
        name = type(error).__name__
        said = name if isinstance(error, UnknownError) else str(error).removeprefix(f"{name}: ") or name
        raise SourceAwayError(
            f"Kafka at {cluster.servers} does not answer ({said})",
            "is the broker up, and are servers and options of `source` right?",
        ) from None
    except KafkaError:
        _forget(key)
        with explained(cluster.servers):
            raise
        raise  # explained has raised


def _forget(key: tuple[int, int, str, str]) -> None:
    client = _clients.pop(key, None)
    if client is not None:
        client.close()


def _answer(client: Any, topics: Sequence[str]) -> Seen:
    described = client.describe_topics(list(topics))
    partitions: list[TopicPartition] = []
    for topic in described:
        _raise(topic["error_code"], topic["name"])
        for partition in topic["partitions"]:
            if partition["leader_id"] < 0:
                raise LeaderNotAvailableError(f"{topic['name']}-{partition['partition_index']} has no leader")
            partitions.append(TopicPartition(topic["name"], partition["partition_index"]))
    partitions.sort()
    first = client.list_partition_offsets(dict.fromkeys(partitions, _EARLIEST), timeout_ms=_ANSWER_MS)
    last = client.list_partition_offsets(
        dict.fromkeys(partitions, _LATEST), isolation_level=_READ_COMMITTED, timeout_ms=_ANSWER_MS
    )
    extents = {Slot(*each): Extent(first[each].offset, last[each].offset) for each in partitions}
    return Seen(extents, {topic["name"]: topic["topic_id"] and str(topic["topic_id"]) for topic in described})


def _raise(code: int, topic: str) -> None:
    if code:
        raise for_code(code)(topic)


@dataclass(frozen=True, slots=True)
class KafkaMapper:
    """Every range is a task in which Spark's consumer reads, and whose Python worker maps what it is handed."""

    source: KafkaSource

    def mapped(self, spark: SparkSession, group: Group, ranges: Sequence[SlotRange], epoch: EpochPlan) -> DataFrame:
        messages, parts = self.messages(spark, ranges)
        return messages.mapInArrow(MapMessages(group, parts), MAPPED)

    def whole(self, spark: SparkSession, group: Group, ranges: Sequence[SlotRange], epoch: EpochPlan) -> DataFrame:
        """A small epoch as one task."""
        messages, parts = self.messages(spark, ranges)
        return messages.coalesce(1).mapInArrow(MessagesEpoch(group, epoch, parts), FOLDED)

    def messages(self, spark: SparkSession, ranges: Sequence[SlotRange]) -> tuple[DataFrame, Parts]:
        """The messages of all ranges; topics go by their number, which is shorter than their name."""
        wanted = {part.place: part for part in ranges if part.place is not None}
        numbers = {topic: number for number, topic in enumerate(sorted({slot.topic for slot in wanted}))}
        frames: list[DataFrame] = []
        for cluster in self.source.clusters:
            own = {slot: part for slot, part in wanted.items() if slot.topic in cluster.topics}
            if own:
                read = spark.read.format("kafka").options(**reading_options(cluster, own)).load()
                frames.append(_selected(read, {topic: numbers[topic] for topic in {slot.topic for slot in own}}))
        together = frames[0]
        for frame in frames[1:]:
            together = together.unionAll(frame)
        return together, {(numbers[slot.topic], slot.partition): part for slot, part in wanted.items()}


def read_range(spark: SparkSession, source: KafkaSource, part: SlotRange, end: int) -> pa.Table:
    """The messages of a slot from where the part starts to `end`, or to where the topic-partition ends."""
    assert part.place is not None  # Kafka's slots are topic-partitions
    until = min(end, source.extents()[part.place].next)
    wanted = replace(part, end=until)
    frame, parts = KafkaMapper(source).messages(spark, [wanted])
    found = read_messages(iter(frame.toArrow().to_batches()), parts)
    return found[0][1] if found else no_messages()


def _selected(messages: DataFrame, numbers: Mapping[str, int]) -> DataFrame:
    (first, *others) = sorted(numbers.items())
    topic: Column = lit(first[1])
    for name, number in others:
        topic = when(col("topic") == name, number).otherwise(topic)
    taken_at = coalesce(unix_micros("timestamp"), lit(0))
    headers = telling_headers(col("headers")).alias("headers")
    return messages.select(topic.alias("topic"), "partition", "offset", taken_at.alias("timestamp"), headers, "value")


def telling_headers(headers: Column) -> Column:
    """Those that say what a message is, as JSON; others (ids, traces) differ from message to message. As a nested
    column they would cost several times as much as all else on the way to Python, also where there are none."""
    return when(headers.isNotNull(), to_json(kept(headers, lambda header: header["key"].isin(*_TELLING))))


def reading_options(cluster: Cluster, ranges: Mapping[Slot, SlotRange]) -> dict[str, str]:
    """The options of Spark's Kafka source that read exactly these ranges."""
    own = cluster.options
    request = own.get("request.timeout.ms") or str(min(_REQUEST_MS, patience_of(own)))
    given = {
        **_READING,
        "request.timeout.ms": request,
        "default.api.timeout.ms": str(max(_REQUEST_MS, int(request))),
        **own,
        "bootstrap.servers": cluster.servers,
        "isolation.level": _READ_COMMITTED,
    }
    # Spark keeps consumers by group id and partition: with one of its own for every read it would make each anew
    own_group = hashlib.sha256(orjson.dumps(given, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    return {
        "kafka.group.id": f"chronicle-{own_group}",
        **{f"kafka.{name}": value for name, value in given.items()},
        "assign": _by_topic(dict.fromkeys(ranges)),
        "startingOffsets": _by_topic({slot: part.start for slot, part in ranges.items()}),
        "endingOffsets": _by_topic({slot: part.end for slot, part in ranges.items()}),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": "30000",
        "fetchOffset.numRetries": "1",
    }


def _by_topic(offsets: Mapping[Slot, int | None]) -> str:
    """As Spark wants them: {topic: {partition: offset}}, or {topic: [partition]} where there are none."""
    nested: dict[str, dict[str, int | None]] = {}
    for slot, offset in offsets.items():
        nested.setdefault(slot.topic, {})[str(slot.partition)] = offset
    if any(offset is None for offset in offsets.values()):
        return orjson.dumps({topic: [int(number) for number in parts] for topic, parts in nested.items()}).decode()
    return orjson.dumps(nested).decode()
