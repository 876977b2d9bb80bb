"""Exactly these offsets of topic-partitions, as columns: what a plan says, and no group, commits or subscription.

kafka-python finds the leaders, logs in and speaks the protocol; what the brokers answer is decoded in bulk
(`chronicle.kafka.records`) instead of record by record.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from kafka import TopicPartition
from kafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    NoError,
    RetriableError,
    UnknownError,
    UnknownTopicOrPartitionError,
    for_code,
)
from kafka.net.compat import KafkaNetClient
from kafka.protocol.consumer import FetchRequest

from chronicle.kafka.client import client_options
from chronicle.kafka.records import Messages, read_messages, table_of

PATIENCE_SECONDS = 5.0
"""How long a reader looks for a leader, or waits for a broker that restarts, before it fails, and the job waits."""

_REQUEST_MS = 15_000
_AGAIN_SECONDS = 0.1
_FROM_VERSION, _TO_VERSION = 4, 12
"""Of fetches: from 4 on transactions are known, and beyond 12 topics have ids instead of names. No rack is told: the
leader answers itself then, and names no replica to ask instead."""

_READ_COMMITTED = 1
_NO_SESSION = {"session_id": 0, "session_epoch": -1}
_SIZES = {"fetch.max.bytes": 64 << 20, "max.partition.fetch.bytes": 4 << 20, "fetch.max.wait.ms": 500}
"""Of a broker's answer, unless options of the definition say otherwise. What fits into a processor's cache is decoded
quickest, and a batch that is larger comes whole all the same."""

_LEAST_BYTES, _GUESSED_BYTES = 16 << 10, 512
"""Of an answer, and of a message before any is known: beyond the end of its range a reader wants nothing."""

Range = tuple[int, int]
"""Offsets [start, end)."""


class PartitionReader:
    """A connection to a cluster, for one thread of one process. It is closed by what it raises."""

    def __init__(self, servers: str, options: Mapping[str, str]) -> None:
        own = {name: options.get(name, "") for name in _SIZES}
        self._sizes = {name: int(own[name]) if own[name].isdecimal() else size for name, size in _SIZES.items()}
        largest = self._sizes["fetch.max.bytes"] + self._sizes["max.partition.fetch.bytes"]
        stated = options.get("request.timeout.ms", "")
        self._patience_ms = int(stated) if stated.isdecimal() else _REQUEST_MS
        self._options = {
            **client_options(servers, options),
            "request_timeout_ms": self._patience_ms,
            "receive_message_max_bytes": max(largest, 1 << 30),
        }
        self._each = _GUESSED_BYTES
        self._client: Any = None
        self._topics: set[str] = set()

    def open(self, topics: Iterable[str]) -> None:
        """Connects, and asks who leads the topics' partitions."""
        self._connected(set(topics))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def read(self, wanted: Mapping[TopicPartition, Range]) -> dict[TopicPartition, pa.Table]:
        """The committed messages of each range, as `Journal.read_arrow` gives them. Leaders that move and brokers that
        restart are waited for; raises KafkaError where that takes too long, or an offset is not there."""
        found: dict[TopicPartition, list[Messages]] = {place: [] for place in wanted}
        left = {place: (start, end) for place, (start, end) in wanted.items() if start < end}
        until = time.monotonic() + PATIENCE_SECONDS
        while left:
            before = dict(left)
            try:
                self._fetch(found, left)
                if left == before and time.monotonic() > until:
                    place, (start, _) = next(iter(left.items()))
                    raise KafkaTimeoutError(f"nothing came of {place.topic}-{place.partition} from offset {start} on")
            except (RetriableError, UnknownError):  # unknown: what a broker says while it stops
                self.close()
                if time.monotonic() > until:
                    raise
                time.sleep(_AGAIN_SECONDS)
            except BaseException:
                self.close()
                raise
            if left != before:
                until = time.monotonic() + PATIENCE_SECONDS
        return {place: table_of(parts) for place, parts in found.items()}

    def _fetch(self, found: dict[TopicPartition, list[Messages]], left: dict[TopicPartition, Range]) -> None:
        """Asks each leader once; what came is added to `found`, and `left` is what is still wanted."""
        asked = [(self._asked(node, {place: left[place] for place in places})) for node, places in self._led(left)]
        for future in asked:
            for topic in self._answered(future).responses:
                for answer in topic.partitions:
                    place = TopicPartition(topic.topic, answer.partition_index)
                    error = for_code(answer.error_code)
                    if error is UnknownTopicOrPartitionError:
                        raise error(place.topic)
                    if error is not NoError:
                        raise error(f"offset {left[place][0]} of {place.topic}-{place.partition}")
                    start, end = left[place]
                    aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
                    records = answer.records or b""
                    messages = read_messages(records, start, end, aborted)
                    self._each = max(self._each // 2, len(records) // max(1, messages.next_offset - start))
                    found[place].append(messages)
                    left[place] = (messages.next_offset, end)
                    if messages.next_offset >= end:
                        del left[place]

    def _led(self, places: Mapping[TopicPartition, Range]) -> list[tuple[int, list[TopicPartition]]]:
        """The places by the broker that leads them."""
        client = self._connected({place.topic for place in places})
        by_node: dict[int, list[TopicPartition]] = {}
        for place in places:
            node = client.cluster.leader_for_partition(place)
            if node is None or node < 0:
                raise LeaderNotAvailableError(f"{place.topic}-{place.partition} has no leader")
            by_node.setdefault(node, []).append(place)
        return list(by_node.items())

    def _connected(self, topics: set[str]) -> Any:
        if self._client is None:
            self._topics = set()
            self._client = KafkaNetClient(**self._options)
            self._client.cluster.config["allow_auto_create_topics"] = False
            self._client.check_version(timeout_ms=self._options["bootstrap_timeout_ms"])
        if not topics <= self._topics:
            known = self._client.cluster.set_topics(sorted(self._topics | topics))
            self._answered(known)
            self._topics |= topics
        return self._client

    def _asked(self, node: int, ranges: Mapping[TopicPartition, Range]) -> Any:
        by_topic: dict[str, list[Any]] = {}
        for place, (start, end) in ranges.items():
            wanted = FetchRequest.FetchTopic.FetchPartition(
                partition=place.partition,
                fetch_offset=start,
                partition_max_bytes=min(
                    _LEAST_BYTES + self._each * (end - start), self._sizes["max.partition.fetch.bytes"]
                ),
            )
            by_topic.setdefault(place.topic, []).append(wanted)
        request = FetchRequest(
            max_wait_ms=self._sizes["fetch.max.wait.ms"],
            min_bytes=1,
            max_bytes=self._sizes["fetch.max.bytes"],
            isolation_level=_READ_COMMITTED,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=parts) for topic, parts in by_topic.items()],
            min_version=_FROM_VERSION,
            max_version=_TO_VERSION,
            **_NO_SESSION,
        )
        self._client.await_ready(node, timeout_ms=self._patience_ms)
        return self._client.send(node, request)

    def _answered(self, future: Any) -> Any:
        self._client.poll(timeout_ms=self._patience_ms, future=future)
        if not future.is_done:
            raise KafkaConnectionError("the broker does not answer")
        if future.failed():
            raise future.exception
        return future.value
