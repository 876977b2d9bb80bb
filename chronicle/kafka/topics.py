"""The topics of a definition: those of its source, and those of relations that have their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource

from chronicle.definitions import Definition, KafkaSource
from chronicle.errors import UsageError
from chronicle.kafka.client import PATIENCE_MS, client_options, explained

FOR_EVER = -1


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets that a partition holds: [earliest, next)."""

    earliest: int
    next: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """Some topics of the definition, and how to reach the brokers that have them."""

    servers: str
    options: dict[str, str]
    topics: tuple[str, ...]


def clusters_of(definition: Definition) -> list[Cluster]:
    source = definition.source
    wanted: list[tuple[str, dict[str, str], str]] = []
    if isinstance(source, KafkaSource):
        wanted += [(source.servers, source.options, topic) for topic in source.topics]
    group = source if isinstance(source, KafkaSource) else None
    for relation in definition.relations.values():
        if relation.source is not None:
            own = relation.source.kafka
            servers = own.servers or (group.servers if group else "")
            wanted.append((servers, {**(group.options if group else {}), **own.options}, own.topic))
    if not wanted:
        raise UsageError("the source of this definition is a journal, which has no topics", "source: {kafka: {...}}")
    found: list[Cluster] = []
    for servers, options, topic in wanted:
        at = next((at for at, known in enumerate(found) if (known.servers, known.options) == (servers, options)), None)
        if at is None:
            found.append(Cluster(servers, options, (topic,)))
        elif topic not in found[at].topics:
            found[at] = Cluster(servers, options, (*found[at].topics, topic))
    return found


def create_topics(cluster: Cluster, partitions: int, replication: int, retention_ms: int = FOR_EVER) -> dict[str, bool]:
    """Makes the topics that are missing; for each whether it was.

    A message's instant is when the broker took it, as the contract says of chronons and changes that state none.
    """
    with _admin(cluster) as admin:
        there = set(admin.list_topics())
        missing = [topic for topic in cluster.topics if topic not in there]
        if missing:
            wanted = {
                "num_partitions": partitions,
                "replication_factor": replication,
                "configs": {"message.timestamp.type": "LogAppendTime", "retention.ms": str(retention_ms)},
            }
            admin.create_topics(dict.fromkeys(missing, wanted), wait_for_metadata=True)
    return {topic: topic in missing for topic in cluster.topics}


def compacted_topics(admin: KafkaAdminClient, topics: Sequence[str]) -> set[str]:
    """The topics whose messages may be taken from their middle, by the broker's own word."""
    told = admin.describe_configs([ConfigResource("TOPIC", topic, None) for topic in topics], config_filter="all")
    by_topic = {name: configs for answered in told.values() for name, configs in answered.items()}
    return {topic for topic in topics if "compact" in str(by_topic[topic].get("cleanup.policy"))}


def topic_extents(cluster: Cluster, patience_ms: int = PATIENCE_MS) -> dict[str, dict[int, Extent] | None]:
    """What each topic holds by partition; None for one that is not there."""
    with _admin(cluster, patience_ms) as admin:
        there = set(admin.list_topics())
    with explained(cluster.servers):
        consumer = KafkaConsumer(**client_options(cluster.servers, cluster.options, patience_ms))
        try:
            return {topic: _extents(consumer, topic) if topic in there else None for topic in cluster.topics}
        finally:
            consumer.close()


def _extents(consumer: Any, topic: str) -> dict[int, Extent]:
    partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
    first, last = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    return {each.partition: Extent(first[each], last[each]) for each in partitions}


@contextmanager
def _admin(cluster: Cluster, patience_ms: int = PATIENCE_MS) -> Iterator[Any]:
    with explained(cluster.servers):
        admin = KafkaAdminClient(**client_options(cluster.servers, cluster.options, patience_ms))
        try:
            yield admin
        finally:
            admin.close()
