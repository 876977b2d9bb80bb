"""Many messages at once: record batches encoded here, sent by kafka-python's own producer.

`KafkaProducer.send` costs 15 µs a message and more (checks, a lock, a future and a dozen small writes), however fast
the checksum is; docs/kafka.md has the figures. All messages of one call share their headers and have no key, so a
batch (KIP-98, message format 2) is one join of prepared parts, and one future tells where all of them went. The
producer then numbers, sends and retries these batches like its own: sending stays idempotent. What is used of its
inside is in `_batch` and `_enqueue`; the lock file pins its version.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError
from kafka.producer.producer_batch import ProducerBatch
from kafka.record.memory_records import MemoryRecordsBuilder

from chronicle.appends.tokens import Token
from chronicle.kafka.varints import varint

Headers = Sequence[tuple[str, bytes]]

BATCH_BYTES = 512 << 10
"""A broker takes batches of 1 MB unless told otherwise."""

_BATCH_RECORDS = 4_096
_IN_FLIGHT = 16
_MESSAGE_FORMAT = 2
_NO_COMPRESSION = 0
_NO_KEY = b"\x01"
_NO_ATTRIBUTES_NO_DELTA = b"\x00\x00"
_LONGEST_OVERHEAD = 32
_LOOK_AGAIN_SECONDS = 0.1


_VARINTS = [varint(number) for number in range(16_384)]


def encode_records(values: Sequence[bytes], headers: Headers) -> bytes:
    """The records of a batch, all of one instant, without keys and with the same headers."""
    end = b"".join([varint(len(headers)), *(_header(name, value) for name, value in headers)])
    fixed = len(_NO_ATTRIBUTES_NO_DELTA) + len(_NO_KEY) + len(end)
    parts: list[bytes] = []
    for at, value in enumerate(values):
        offset, size = _varint(at), _varint(len(value))
        length = _varint(fixed + len(offset) + len(size) + len(value))
        parts += (length, _NO_ATTRIBUTES_NO_DELTA, offset, _NO_KEY, size, value, end)
    return b"".join(parts)


def _header(name: str, value: bytes) -> bytes:
    key = name.encode()
    return b"".join([varint(len(key)), key, varint(len(value)), value])


def _varint(number: int) -> bytes:
    return _VARINTS[number] if number < len(_VARINTS) else varint(number)


def send_in_bulk(producer: Any, topic: str, values: Sequence[bytes], headers: Headers) -> Token:
    """Sends the values, at least one, in batches to all partitions in turn; the last one's token, once all are there.

    Raises KafkaError where a batch could not be sent; others may have been.
    """
    partitions = sorted(producer.partitions_for(topic))
    begin = time.monotonic_ns() % len(partitions)  # or many small files would all go to the first
    waiting: deque[list[_Record]] = deque()
    token = None
    for turn, chunk in enumerate(_chunks(values, sum(len(name) + len(value) for name, value in headers))):
        if len(waiting) >= _IN_FLIGHT:
            token = _taken(producer, waiting.popleft())
        partition = TopicPartition(topic, partitions[(begin + turn) % len(partitions)])
        batch = _batch(partition, chunk, headers)
        _enqueue(producer, batch)
        waiting.append(batch._record_futures)
    for records in waiting:
        token = _taken(producer, records)
    assert token is not None  # there was at least one value
    return token


def _chunks(values: Sequence[bytes], header_bytes: int) -> Iterator[Sequence[bytes]]:
    begin = size = 0
    for at, value in enumerate(values):
        own = len(value) + header_bytes + _LONGEST_OVERHEAD
        if at > begin and (size + own > BATCH_BYTES or at - begin >= _BATCH_RECORDS):
            yield values[begin:at]
            begin, size = at, 0
        size += own
    yield values[begin:]


def _batch(partition: TopicPartition, values: Sequence[bytes], headers: Headers) -> Any:
    records = MemoryRecordsBuilder(_MESSAGE_FORMAT, _NO_COMPRESSION, 0)  # no room: sent without lingering
    builder = records._builder
    builder._buffer += encode_records(values, headers)
    builder._first_timestamp = builder._max_timestamp = time.time_ns() // 1_000_000
    builder._num_records = len(values)
    builder._last_offset = len(values) - 1
    records.skip(len(values))
    batch = ProducerBatch(partition, records)
    batch._record_futures = [_Record(batch.produce_future, at) for at in range(len(values))]
    return batch


def _enqueue(producer: Any, batch: Any) -> None:
    accumulator = producer._accumulator
    with accumulator._tp_lock(batch.topic_partition):
        accumulator._batches[batch.topic_partition].append(batch)
        accumulator._incomplete.add(batch)
    producer._sender.wakeup()


class _Record:
    """Where a record is: in which batch, at which place. A batch that the broker finds too large is cut in halves by
    the producer, which then tells each record its new place."""

    __slots__ = ("at", "batch")

    def __init__(self, batch: Any, at: int) -> None:
        self.rebind(batch, at)

    def rebind(self, batch: Any, at: int) -> None:
        self.batch = batch
        self.at = at


def _taken(producer: Any, records: Sequence[_Record]) -> Token:
    """The last record's token, once the broker has all of them."""
    until = time.monotonic() + 2 * producer.config["delivery_timeout_ms"] / 1000
    while pending := [batch for batch in {record.batch for record in records} if not batch.is_done]:
        if time.monotonic() > until:
            raise KafkaTimeoutError(f"no answer about a batch for {pending[0].topic_partition}")
        pending[0].wait(_LOOK_AGAIN_SECONDS)  # a batch that was cut never gets an answer of its own
    for batch in {record.batch for record in records}:
        _, _, refused = batch.value
        if refused is not None:
            raise refused(0)
    last = records[-1]
    return Token(last.batch.topic_partition.topic, last.batch.topic_partition.partition, last.batch.value[0] + last.at)
