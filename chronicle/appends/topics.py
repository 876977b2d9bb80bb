"""How the messages of a topic are read: those of a chronicle's topic say what they are, those of a relation's own topic
are its changes, as JSON or as Debezium's events."""

from __future__ import annotations

from typing import Protocol

from chronicle.appends.body import Malformed, parse_body
from chronicle.appends.debezium import read_event
from chronicle.appends.decode import Append, ChangeReader, Decoder, Headers, decoder_of, named_by
from chronicle.appends.group import Group, group_of
from chronicle.definitions import Definition, KafkaSource
from chronicle.definitions.models import RelationTopic


class TopicDecoder(Protocol):
    def decode(self, value: bytes | None, headers: Headers, timestamp: int) -> Append:
        """The append that a message is, raising `Malformed`; `timestamp` is when the broker took it."""


def relation_topic(definition: Definition, topic: str) -> tuple[str, RelationTopic] | None:
    """The relation whose own topic this is, with its source; None for a topic of the group's source."""
    source = definition.source
    if isinstance(source, KafkaSource) and topic in source.topics:
        return None
    for name, relation in definition.relations.items():
        if relation.source is not None and relation.source.kafka.topic == topic:
            return name, relation.source.kafka
    return None


def topic_decoder(definition: Definition, topic: str) -> TopicDecoder:
    """The exact decoder of a topic's messages; of a topic that no relation has to itself, that of the group."""
    found = relation_topic(definition, topic)
    if found is None:
        return decoder_of(definition)
    name, own = found
    return RelationDecoder(group_of(definition), name, debezium=own.format == "debezium")


class RelationDecoder:
    """Every message is one change. One without a value (a tombstone, for a topic's compaction) is an append of nothing:
    the delete itself came before it."""

    def __init__(self, group: Group, name: str, *, debezium: bool) -> None:
        self._group = Decoder(group)
        self._reader = ChangeReader(name, group.relations[name])
        self._name = name
        self._header = ("chronicle", name.encode())
        self._debezium = debezium

    def decode(self, value: bytes | None, headers: Headers, timestamp: int) -> Append:
        if value is None:
            return Append(None, {}, ())
        if self._debezium:
            return Append(None, {}, [read_event(self._reader, parse_body(value), timestamp)])
        stated = named_by(headers)
        if stated is not None and stated != self._name:
            raise Malformed(f"the header names '{stated}', and the topic is of the relation '{self._name}'")
        append = self._group.decode(value, (*headers, self._header), timestamp)
        if append.tuples or any(change.relation != self._name for change in append.changes):
            raise Malformed(f"the topic is of the relation '{self._name}' and takes its changes only")
        return append
