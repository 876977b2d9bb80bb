"""The two summarisations, Definition 4.3: they drop the sequence number and map a chronicle to a persistent view."""

from __future__ import annotations

from dataclasses import dataclass, field

from chronicle.expressions import Expression
from chronicle.types import Column, Schema
from views.algebra.chronicles import Aggregate, Node, derive, grouped_schema, require_columns, require_grouping


@dataclass(frozen=True, slots=True)
class GroupBy:
    """GROUPBY(χ, GL, AL): one row per group. Without keys there is one row, once something was appended."""

    input: Node
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[Aggregate, ...]
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_grouping(self.input.schema, self.keys, self.aggregates)
        derive(self, grouped_schema(self.keys, self.aggregates))


@dataclass(frozen=True, slots=True)
class Distinct:
    """Π(χ) without the sequence number: the set of rows ever seen. Its key is the whole row."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for _, expression in self.columns:
            require_columns(expression, self.input.schema)
        derive(self, Schema(tuple(Column(name, e.type, e.nullable) for name, e in self.columns)))

    @property
    def keys(self) -> tuple[tuple[str, Expression], ...]:
        return self.columns

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return ()


Summary = GroupBy | Distinct
