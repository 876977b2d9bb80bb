"""What decoding needs to know of a definition: the columns of each chronicle and relation of the group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chronicle.definitions import Definition
from chronicle.types import Schema


@dataclass(frozen=True, slots=True)
class ChronicleColumns:
    schema: Schema
    chronon: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class RelationColumns:
    schema: Schema
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    chronicles: Mapping[str, ChronicleColumns]
    relations: Mapping[str, RelationColumns]


def group_of(definition: Definition) -> Group:
    return Group(
        {
            name: ChronicleColumns(chronicle.columns, chronicle.chronon, chronicle.strict)
            for name, chronicle in definition.chronicles.items()
        },
        {
            name: RelationColumns(relation.columns, tuple(relation.key))
            for name, relation in definition.relations.items()
        },
    )
