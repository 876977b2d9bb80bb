"""What the checker admits and the compiler accepts: a view with its class, bound, periods and derived columns."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from calendars import Calendar, Duration, KeyedCalendar
from chronicle.expressions import Expression
from chronicle.types import Column, DataType, Schema
from views.algebra import Summary


class ViewClass(StrEnum):
    """The languages of Definition 4.3, by what an append costs (Theorem 4.5)."""

    SCA1 = "SCA1"
    SCA_JOIN = "SCA-join"
    SCA = "SCA"


@dataclass(frozen=True, slots=True)
class Bound:
    """Theorem 4.2 and 4.4 for one view: the text that `check` shows, and the numbers in it."""

    text: str
    unions: int
    joins: int
    scans: int
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyedBy:
    """Where a keyed calendar finds its anchor and zone: columns of a relation that the view joins on its key.

    `key` are the relation's key columns with the expressions (over the summary's input) that bind them.
    """

    relation: str
    key: tuple[tuple[str, Expression], ...]
    anchor: str | None
    zone: str | None


@dataclass(frozen=True, slots=True)
class PeriodRule:
    calendar_name: str
    calendar: Calendar | KeyedCalendar
    grace: Duration
    expire_after: Duration | None
    late: Literal["reject", "next"]
    keyed_by: KeyedBy | None = None


@dataclass(frozen=True, slots=True)
class Step:
    above: Decimal
    rate: Decimal


@dataclass(frozen=True, slots=True)
class Tiers:
    """A discount or price by steps. `volume`: the rate of the highest step reached, on the whole; `graduated`: each
    step's rate on the part above it and below the next. Exactly at `above` the step is not reached."""

    of: Expression
    mode: Literal["volume", "graduated"]
    steps: tuple[Step, ...]
    type: DataType
    nullable: bool


@dataclass(frozen=True, slots=True)
class Derived:
    name: str
    value: Expression | Tiers


@dataclass(frozen=True, slots=True)
class CheckedView:
    name: str
    summary: Summary
    cls: ViewClass
    bound: Bound
    period: PeriodRule | None
    derived: tuple[Derived, ...]

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(Column(name, e.type, e.nullable) for name, e in self.summary.keys)

    @property
    def schema(self) -> Schema:
        """Keys, aggregates, then derived columns, in dependency order."""
        derived = (Column(d.name, d.value.type, d.value.nullable) for d in self.derived)
        return Schema((*self.summary.schema.columns, *derived))
