"""Spark's own Kafka connector, as a batch with exactly the offsets wanted: `recompute` reads by another way than the
job does, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from chronicle.kafka.client import patience_of
from chronicle.kafka.topics import Cluster
from views.state import Slot

Offsets = Mapping[Slot, tuple[int, int]]
"""By topic-partition: [first, last)."""

_REQUEST_MS = 15_000
_READING = {
    "max.poll.records": "50000",
    "max.partition.fetch.bytes": str(16 << 20),
    "fetch.max.bytes": str(64 << 20),
    "fetch.max.wait.ms": "5",
}
"""What reading in bulk wants. `fetch.min.bytes` stays as it is: more of it can stall."""


def reading_options(cluster: Cluster, offsets: Offsets) -> dict[str, str]:
    own = cluster.options
    request = own.get("request.timeout.ms") or str(min(_REQUEST_MS, patience_of(own)))
    given = {
        **_READING,
        "request.timeout.ms": request,
        "default.api.timeout.ms": str(max(_REQUEST_MS, int(request))),
        **own,
        "bootstrap.servers": cluster.servers,
        "isolation.level": "read_committed",
    }
    return {
        **{f"kafka.{name}": value for name, value in given.items()},
        "assign": orjson.dumps({topic: list(parts) for topic, parts in _by_topic(offsets).items()}).decode(),
        "startingOffsets": _listed({slot: first for slot, (first, _) in offsets.items()}),
        "endingOffsets": _listed({slot: last for slot, (_, last) in offsets.items()}),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": "30000",
        "fetchOffset.numRetries": "1",
    }


def _listed(offsets: Mapping[Slot, int]) -> str:
    by_topic = _by_topic(offsets)
    named = {
        topic: {str(number): offsets[Slot(topic, number)] for number in parts} for topic, parts in by_topic.items()
    }
    return orjson.dumps(named).decode()


def _by_topic(slots: Iterable[Slot]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for slot in slots:
        found.setdefault(slot.topic, []).append(slot.partition)
    return found
