"""What the state knows of a view and of a relation: how their rows are laid out, and a fingerprint of their meaning.

The fingerprint covers everything that decides which rows an append changes (algebra, aggregates, calendar, grace,
late policy) and not what is computed on lookup (derive) or only bounds retention (expire_after): a view that differs
in it cannot go on with the rows of the old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from chronicle.types import Column, DataType, Kind
from views.aggregates import monoid_of
from views.aggregates.monoid import BLOB, Monoid
from views.state.rows import Columns, RowLayout

if TYPE_CHECKING:
    from views.checked import CheckedView

_I64 = "<i8"

PERIOD_END = "@end"
"""A field of every row of a view with a keyed calendar: its period's end, as first written."""


class Periods(StrEnum):
    NONE = "none"
    SHARED = "shared"
    KEYED = "keyed"


def state_column(aggregate: str, part: str) -> str:
    """The name of a monoid's field among a view's state columns, for partials and rows alike."""
    return f"{aggregate}.{part}"


@dataclass(frozen=True, slots=True)
class ViewLayout:
    name: str
    keys: tuple[Column, ...]
    monoids: tuple[tuple[str, Monoid], ...]
    periods: Periods
    panes: bool
    fingerprint: str
    row: RowLayout = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields: list[tuple[str, str]] = []
        if self.periods is Periods.KEYED:
            fields.append((PERIOD_END, _I64))
        for name, monoid in self.monoids:
            fields += [(state_column(name, part.name), part.dtype) for part in monoid.fields]
        object.__setattr__(self, "row", RowLayout(tuple(fields)))

    @property
    def key_types(self) -> tuple[DataType, ...]:
        return tuple(column.type for column in self.keys)

    def merge(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Columns:
        """The monoids' merge, column by column; a keyed period's end is kept as first written."""
        merged: Columns = {}
        if self.periods is Periods.KEYED:
            merged = {PERIOD_END: old[PERIOD_END]}
        for name, monoid in self.monoids:
            columns = {part.name: state_column(name, part.name) for part in monoid.fields}
            left = {part: old[column] for part, column in columns.items()}
            right = {part: new[column] for part, column in columns.items()}
            for part, values in monoid.merge(left, right).items():
                merged[columns[part]] = values
        return merged


@dataclass(frozen=True, slots=True)
class RelationLayout:
    """A relation's version rows: `@sn`, `@deleted`, then each column with its null flag; strings are blobs."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    row: RowLayout = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields: list[tuple[str, str]] = [("@sn", _I64), ("@deleted", "|u1")]
        for column in self.columns:
            fields.append((f"{column.name}?", "|u1"))
            fields.append((column.name, _VERSION_FIELD[column.type.kind]))
        object.__setattr__(self, "row", RowLayout(tuple(fields)))

    @property
    def key_types(self) -> tuple[DataType, ...]:
        types = {column.name: column.type for column in self.columns}
        return tuple(types[name] for name in self.key)

    @property
    def fingerprint(self) -> str:
        return _digest("; ".join(map(str, self.columns)), ",".join(self.key))


_VERSION_FIELD: dict[Kind, str] = {
    Kind.STRING: BLOB,
    Kind.INT64: _I64,
    Kind.TIMESTAMP: _I64,
    Kind.DOUBLE: "<f8",
    Kind.BOOL: "|u1",
    Kind.DATE: "<i4",
    Kind.DECIMAL: "V16",
}


def layout_of(view: CheckedView) -> ViewLayout:
    monoids = tuple((aggregate.name, monoid_of(aggregate)) for aggregate in view.summary.aggregates)
    rule = view.period
    if rule is None:
        periods, panes = Periods.NONE, False
    else:
        periods = Periods.SHARED if rule.keyed_by is None else Periods.KEYED
        panes = rule.calendar.overlapping
    meaning = "" if rule is None else f"{rule.calendar!r} {rule.keyed_by!r} grace {rule.grace!r} late {rule.late}"
    return ViewLayout(view.name, view.keys, monoids, periods, panes, _digest(repr(view.summary), meaning))


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:32]
