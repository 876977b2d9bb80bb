"""Appending into topics: an idempotent producer, so that a retry never makes two appends of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kafka import KafkaProducer

from chronicle.appends.body import Malformed
from chronicle.appends.decode import decoder_of
from chronicle.appends.tokens import Token
from chronicle.definitions import Definition, KafkaSource
from chronicle.errors import UsageError
from chronicle.kafka.bulk import BATCH_BYTES, send_in_bulk
from chronicle.kafka.client import PATIENCE_MS, client_options, explained

_LINGER_MS = 5
_DELIVERY_MS = 60_000
"""How long a broker may be away while we append; it may be restarting."""

_MANY = 200
"""Messages, from which on encoding them ourselves is worth it."""


class KafkaTarget:
    """Sends to the topic of the chronicle's name, otherwise to the first one; a relation may have a topic of its own.

    Values of one call are sent together but are not one transaction: where a broker fails in between, some may stay.
    """

    def __init__(self, definition: Definition, source: KafkaSource) -> None:
        self._definition = definition
        self._source = source
        self._producers: dict[str, Any] = {}

    def append(self, name: str | None, values: Sequence[bytes]) -> Token:
        servers, topic = self._place(name)
        headers = [] if name is None else [("chronicle", name.encode())]
        with explained(servers):
            producer = self._producer(servers, name)
            if name in self._definition.relations:
                sent = [producer.send(topic, value=each, key=self._key(name, each), headers=headers) for each in values]
            elif len(values) >= _MANY and max(map(len, values)) < BATCH_BYTES:
                return send_in_bulk(producer, topic, values, headers)
            else:
                sent = [producer.send(topic, value=each, headers=headers) for each in values]
            producer.flush()
            taken = [each.get() for each in sent][-1]
        return Token(taken.topic, taken.partition, taken.offset)

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()

    def _key(self, name: str | None, value: bytes) -> bytes:
        """Changes of one row stay in order, so they share a partition; a compacted topic keeps the last."""
        assert name is not None
        headers = (("chronicle", name.encode()),)
        try:
            row = decoder_of(self._definition).decode(value, headers, 0).changes[0].row
        except (Malformed, IndexError):
            return name.encode()
        return json.dumps([row[column] for column in self._definition.relations[name].key], default=str).encode()

    def _place(self, name: str | None) -> tuple[str, str]:
        relation = self._definition.relations.get(name) if name is not None else None
        if relation is not None and relation.source is not None:
            own = relation.source.kafka
            if own.format == "debezium":
                raise UsageError(
                    f"the topic {own.topic} of '{name}' has Debezium's messages", "make the change in its database"
                )
            return own.servers or self._source.servers, own.topic
        topics = self._source.topics
        return self._source.servers, name if name is not None and name in topics else topics[0]

    def _producer(self, servers: str, name: str | None) -> Any:
        if servers not in self._producers:
            relation = self._definition.relations.get(name) if name is not None else None
            own = relation.source.kafka.options if relation is not None and relation.source is not None else {}
            self._producers[servers] = KafkaProducer(
                **client_options(servers, {**self._source.options, **own}),
                enable_idempotence=True,
                acks="all",
                linger_ms=_LINGER_MS,
                batch_size=BATCH_BYTES,
                max_block_ms=PATIENCE_MS,
                request_timeout_ms=PATIENCE_MS,
                delivery_timeout_ms=_DELIVERY_MS,
            )
        return self._producers[servers]
