"""Kafka as the job's source: how far there is something to read, on the driver, and the messages of exactly the offsets
of an epoch's plan, in the workers. Both by kafka-python; no message passes through the JVM.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import orjson
import pyarrow as pa
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import (
    KafkaError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
    RetriableError,
    UnknownError,
    UnknownTopicOrPartitionError,
    for_code,
)

from chronicle.definitions import Definition
from chronicle.errors import ChronicleError
from chronicle.kafka.client import client_options, explained
from chronicle.kafka.reading import PartitionReader
from chronicle.kafka.topics import Cluster, clusters_of, compacted_topics
from streaming.source import Extent, Extents, OffsetsGoneError, SourceAwayError
from views.kernel.map import SlotRange
from views.state import Slot
from views.state.storage import Storage

Client = TypeVar("Client")
Answer = TypeVar("Answer")

_ANSWER_MS = 5_000
"""How long one question may take. Whether to ask again is the job's to say."""

_IDS = "topics.json"
"""Beside the state: the id of every topic that it was made from."""

_EARLIEST, _LATEST = -2, -1
_READ_COMMITTED = "read_committed"


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

    def open(self) -> None:
        for cluster in self.clusters:
            with suppress(ChronicleError):
                _ask(cluster, _reader, PartitionReader.open)

    def read(self, part: SlotRange) -> pa.Table:
        return self.read_together([part])[0]

    def read_together(self, parts: Sequence[SlotRange]) -> list[pa.Table]:
        wanted = {_place_of(part): (part.start, part.end) for part in parts}
        found: dict[TopicPartition, pa.Table] = {}
        for cluster in self.clusters:
            if own := {place: offsets for place, offsets in wanted.items() if place.topic in cluster.topics}:
                found |= _ask(cluster, _reader, partial(_read, own))
        return [found[_place_of(part)] for part in parts]

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
                _compacted[key] = _ask(cluster, _admin, compacted_topics)
        return {topic for cluster in self.clusters for topic in _compacted[cluster.servers, cluster.topics]}

    def look(self) -> Seen:
        extents: dict[Slot, Extent] = {}
        ids: dict[str, str | None] = {}
        for cluster in self.clusters:
            seen = _ask(cluster, _admin, _answer)
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


def _read(
    ranges: Mapping[TopicPartition, tuple[int, int]], reader: PartitionReader, topics: Sequence[str]
) -> dict[TopicPartition, pa.Table]:
    return reader.read(ranges)


def _place_of(part: SlotRange) -> TopicPartition:
    assert part.place is not None  # Kafka's slots are topic-partitions
    return TopicPartition(part.place.topic, part.place.partition)


_compacted: dict[tuple[str, tuple[str, ...]], set[str]] = {}

_Key = tuple[int, int, str, str, str]
_clients: dict[_Key, Any] = {}
"""By process and thread: a client is closed by the one that it failed."""


def _admin(cluster: Cluster) -> Any:
    asking = client_options(cluster.servers, cluster.options, _ANSWER_MS)
    return KafkaAdminClient(**asking, request_timeout_ms=_ANSWER_MS)


def _reader(cluster: Cluster) -> PartitionReader:
    return PartitionReader(cluster.servers, cluster.options)


def _ask(
    cluster: Cluster, connect: Callable[[Cluster], Client], question: Callable[[Client, Sequence[str]], Answer]
) -> Answer:
    """The answer about the cluster's topics, to a client that is kept; SourceAwayError where there is none now."""
    options = orjson.dumps(cluster.options, option=orjson.OPT_SORT_KEYS).decode()
    key = (os.getpid(), threading.get_ident(), connect.__name__, cluster.servers, options)
    try:
        if key not in _clients:
            _clients[key] = connect(cluster)
        return question(_clients[key], cluster.topics)
    except OffsetOutOfRangeError as error:
        raise SourceAwayError(
            f"Kafka at {cluster.servers} does not have {error.args[0]}",
            "retention may have taken it, or the topic was made anew",
        ) from None
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


def _forget(key: _Key) -> None:
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
