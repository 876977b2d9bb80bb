"""Record batches of our own making are those of kafka-python, and the producer sends them as its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.record.memory_records import MemoryRecordsBuilder

from chronicle.kafka.bulk import encode_records, send_in_bulk
from chronicle.kafka.topics import Cluster, create_topics, topic_extents

HEADERS = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=70)), max_size=3)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=80), HEADERS)
def test_records_are_encoded_as_kafka_python_does(values: list[bytes], headers: list[tuple[str, bytes]]) -> None:
    builder = MemoryRecordsBuilder(2, 0, 1 << 20)
    header_size = builder.size_in_bytes()
    for value in values:
        builder.append(1, None, value, headers)
    builder.close()
    assert bytes(builder.buffer()[header_size:]) == encode_records(values, headers)


@pytest.mark.kafka
@pytest.mark.parametrize("size", [20, 20_000])
def test_every_value_arrives_once_and_the_token_names_the_last(kafka_servers: str, topic: str, size: int) -> None:
    create_topics(Cluster(kafka_servers, {}, (topic,)), 3, 1)
    values = [b"%07d".ljust(size, b".") % number for number in range(20_000 if size < 100 else 200)]
    producer = KafkaProducer(bootstrap_servers=kafka_servers, enable_idempotence=True)
    tokens = [send_in_bulk(producer, topic, part, [("chronicle", b"calls")]) for part in (values[:-1], values[-1:])]
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=kafka_servers, consumer_timeout_ms=20_000)
    consumer.assign([TopicPartition(topic, number) for number in range(3)])
    consumer.seek_to_beginning()
    found = [next(consumer) for _ in values]
    consumer.close()
    assert sorted(message.value for message in found) == values
    assert {tuple(message.headers) for message in found} == {(("chronicle", b"calls"),)}
    at = {(message.partition, message.offset): message.value for message in found}
    assert [at[token.partition, token.offset] for token in tokens] == values[-2:]


@pytest.mark.kafka
def test_batches_that_are_too_large_for_the_topic_are_cut_and_arrive_once(kafka_servers: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka_servers)
    small = {"num_partitions": 1, "replication_factor": 1, "configs": {"max.message.bytes": "50000"}}
    admin.create_topics({topic: small}, wait_for_metadata=True)
    admin.close()
    producer = KafkaProducer(bootstrap_servers=kafka_servers, enable_idempotence=True)
    token = send_in_bulk(producer, topic, [b"%0100d" % number for number in range(2_000)], [])
    producer.close()
    assert token.offset == 1_999
    extents = topic_extents(Cluster(kafka_servers, {}, (topic,)))[topic]
    assert extents is not None
    assert extents[0].next == 2_000
