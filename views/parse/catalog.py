"""The tables that a view may name: chronicles, relations, other views; names ignore case."""

from __future__ import annotations

from dataclasses import dataclass

from chronicle.definitions import Definition, RelationDefinition, ViewDefinition
from chronicle.types import Schema


@dataclass(frozen=True, slots=True)
class Catalog:
    chronicles: dict[str, Schema]
    relations: dict[str, RelationDefinition]
    views: dict[str, ViewDefinition]

    @classmethod
    def of(cls, definition: Definition) -> Catalog:
        chronicles = {name: chronicle.columns for name, chronicle in definition.chronicles.items()}
        return cls(chronicles, definition.relations, definition.views)

    def chronicle(self, written: str) -> str | None:
        return _named(written, self.chronicles)

    def relation(self, written: str) -> str | None:
        return _named(written, self.relations)

    def view(self, written: str) -> str | None:
        return _named(written, self.views)

    @property
    def tables(self) -> tuple[str, ...]:
        return (*self.chronicles, *self.relations)


def _named(
    written: str, names: dict[str, Schema] | dict[str, RelationDefinition] | dict[str, ViewDefinition]
) -> str | None:
    if written in names:
        return written
    return next((name for name in names if name.casefold() == written.casefold()), None)
