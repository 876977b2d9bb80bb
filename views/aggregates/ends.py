"""first and last by (chronon, sn, pos): of the values that are not null, as every aggregate of SQL.

The state keeps chronon and sn and not pos: all tuples of one append are in one partial (an append is atomic and has one
chronon), so two states that meet never have the same sn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from chronicle.types import DataType, Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.values import ValueLayout, fixed
from views.aggregates.wide import less, validity

NOTHING = -1
"""The sn of a state without a value; real ones count from 0."""


@dataclass(frozen=True, slots=True)
class End:
    which: Literal["first", "last"]
    type: DataType
    inexact: ClassVar = False

    @property
    def _layout(self) -> ValueLayout:
        return ValueLayout(self.type)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("chronon", "<i8"), Field("sn", "<i8"), *self._layout.fields)

    @property
    def identity(self) -> State:
        return (0, NOTHING, *self._layout.nothing)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        value, (chronon, sn, _) = arguments[0], order
        pick = "arg_min" if self.which == "first" else "arg_max"
        present = f"{value} IS NOT NULL" + (f" AND ({where})" if where else "")
        packed = f"struct_pack(chronon := {chronon}, sn := {sn}, value := {value})"
        return {"end": aggregated(f"{pick}({packed}, row({', '.join(order)}))", present)}

    def finish_partial(self, raw: Raw) -> Columns:
        chronon, sn, value = _struct_fields(raw["end"])
        empty = ~validity(raw["end"])
        names = [field.name for field in self._layout.fields]
        columns = {"chronon": fixed(chronon, "<i8"), "sn": np.where(empty, NOTHING, fixed(sn, "<i8"))}
        return columns | dict(zip(names, self._layout.from_arrow(value), strict=True))

    def merge(self, a: Columns, b: Columns) -> Columns:
        left, right = [a["chronon"], a["sn"]], [b["chronon"], b["sn"]]
        beats = less(right, left) if self.which == "first" else less(left, right)
        take = (b["sn"] != NOTHING) & ((a["sn"] == NOTHING) | beats)
        return {field.name: np.where(take, b[field.name], a[field.name]) for field in self.fields}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        given = [c for c in contributions if c.value is not None]
        if not given:
            return self.identity
        pick = min if self.which == "first" else max
        end = pick(given, key=lambda c: (c.chronon, c.sn, c.pos))
        return (end.chronon, end.sn, *self._layout.encode(end.value))

    def merge_one(self, a: State, b: State) -> State:
        if NOTHING in (a[1], b[1]):
            return a if b[1] == NOTHING else b
        return b if (b[:2] < a[:2] if self.which == "first" else a[:2] < b[:2]) else a

    def finalise(self, state: State) -> Value:
        return None if state[1] == NOTHING else self._layout.decode(state[2:])


def _struct_fields(column: Any) -> tuple[Any, Any, Any]:
    """The children of a struct column with the struct's own nulls and offset applied."""
    chronon, sn, value = column.flatten()
    return chronon, sn, value
