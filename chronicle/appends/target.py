"""Where appends go: the journal of the group, or the topics of its Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from chronicle.appends.tokens import Token, journal_token
from chronicle.definitions import Definition, JournalSource, KafkaSource
from chronicle.errors import DefinitionError
from chronicle.journal import Headers, Journal
from chronicle.project import Project


class AppendTarget(Protocol):
    def append(self, name: str | None, values: Sequence[bytes]) -> Token:
        """Appends each value, at least one, as a message of its own; returns the last one's token once all are durable.

        `name` is the chronicle or relation they are for, None where the bodies say it themselves.
        """

    def close(self) -> None: ...


class JournalTarget:
    """The journal takes all values of one call or none."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def append(self, name: str | None, values: Sequence[bytes]) -> Token:
        headers: Headers = () if name is None else (("chronicle", name.encode()),)
        return journal_token(self._journal.append(values, headers=headers)[-1])

    def close(self) -> None:
        self._journal.close()


def appendable(project: Project) -> Definition:
    """The definition as far as appends go: faults inside views do not keep anyone from appending."""
    definition = project.loaded.definition
    if definition is None or project.loaded.faults:
        raise DefinitionError(project.loaded.faults)
    return definition


def open_target(project: Project) -> AppendTarget:
    definition = appendable(project)
    match definition.source:
        case JournalSource(path=path):
            return JournalTarget(Journal.open(project.directory / path))
        case KafkaSource() as source:
            from chronicle.kafka.target import KafkaTarget

            return KafkaTarget(definition, source)
