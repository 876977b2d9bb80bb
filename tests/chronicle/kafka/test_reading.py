"""Ranges of topic-partitions of a real broker, and what it says where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError

import chronicle.kafka.reading
from chronicle.kafka import records
from chronicle.kafka.reading import PartitionReader

pytestmark = pytest.mark.kafka

VALUES = [b"message %d" % number for number in range(2_000)]


@pytest.fixture
def reader(kafka_servers: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PartitionReader]:
    monkeypatch.setattr(chronicle.kafka.reading, "PATIENCE_SECONDS", 0.5)
    reader = PartitionReader(kafka_servers, {})
    yield reader
    reader.close()


def filled(servers: str, partitions: int = 1, **configs: str) -> str:
    """A new topic with the values in each partition."""
    topic = f"read-{uuid4().hex[:8]}"
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        settings = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
        admin.create_topics({topic: settings}, wait_for_metadata=True)
    producer = KafkaProducer(bootstrap_servers=servers, max_request_size=10 << 20)
    for partition in range(partitions):
        for value in VALUES:
            producer.send(topic, value=value, partition=partition)
    producer.close()
    return topic


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_what_java_compresses_is_read(
    kafka_servers: str, reader: PartitionReader, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = filled(kafka_servers, **{"compression.type": codec})  # the broker compresses anew
    met: set[int] = set()
    decompressed = records._decompressed

    def spied(number: int, body: bytes) -> bytes:
        met.add(number)
        return decompressed(number, body)

    monkeypatch.setattr(records, "_decompressed", spied)
    (read,) = reader.read({TopicPartition(topic, 0): (5, len(VALUES))}).values()
    assert read.column("value").to_pylist() == VALUES[5:]
    assert met == {["", "gzip", "snappy", "lz4", "zstd"].index(codec)}


def test_ranges_of_several_partitions_are_read_together(kafka_servers: str, reader: PartitionReader) -> None:
    topic = filled(kafka_servers, partitions=3)
    wanted = {
        TopicPartition(topic, 0): (10, 20),
        TopicPartition(topic, 2): (0, 2_000),
        TopicPartition(topic, 1): (7, 7),
    }
    read = reader.read(wanted)
    for place, (start, end) in wanted.items():
        assert read[place].column("offset").to_pylist() == list(range(start, end))
        assert read[place].column("value").to_pylist() == VALUES[start:end]


def test_a_message_that_is_larger_than_an_answer_may_be_comes_all_the_same(kafka_servers: str) -> None:
    topic = filled(kafka_servers)
    producer = KafkaProducer(bootstrap_servers=kafka_servers)
    producer.send(topic, value=bytes(500_000)).get()
    producer.close()
    reader = PartitionReader(kafka_servers, {"max.partition.fetch.bytes": "1000", "fetch.max.bytes": "1000"})
    (read,) = reader.read({TopicPartition(topic, 0): (1_990, 2_001)}).values()
    assert [len(value) for value in read.column("value").to_pylist()][-2:] == [12, 500_000]
    reader.close()


def test_offsets_that_are_not_there_are_said_and_the_next_read_is_well(
    kafka_servers: str, reader: PartitionReader
) -> None:
    place = TopicPartition(filled(kafka_servers), 0)
    with pytest.raises(OffsetOutOfRangeError, match=f"offset 9000 of {place.topic}-0"):
        reader.read({place: (9_000, 9_001)})
    assert reader.read({place: (0, 3)})[place].num_rows == 3


def test_a_topic_that_is_missing_is_waited_for_and_never_made(kafka_servers: str, reader: PartitionReader) -> None:
    topic = f"missing-{uuid4().hex[:8]}"
    with pytest.raises(KafkaError, match=topic):
        reader.read({TopicPartition(topic, 0): (0, 1)})
    with KafkaAdminClient(bootstrap_servers=kafka_servers) as admin:
        assert topic not in admin.list_topics()
