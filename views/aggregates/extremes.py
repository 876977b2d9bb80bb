"""min and max, of every type that has an order; strings by code point, NaN above every number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

import numpy as np

from chronicle.types import DataType, Kind, Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.values import ValueLayout
from views.aggregates.wide import validity


@dataclass(frozen=True, slots=True)
class Extreme:
    which: Literal["min", "max"]
    type: DataType
    inexact: ClassVar = False

    @property
    def _layout(self) -> ValueLayout:
        return ValueLayout(self.type)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("present", "|u1"), *self._layout.fields)

    @property
    def identity(self) -> State:
        return (0, *self._layout.nothing)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {"value": aggregated(f"{self.which}({arguments[0]})", where)}

    def finish_partial(self, raw: Raw) -> Columns:
        names = [field.name for field in self._layout.fields]
        values = self._layout.from_arrow(raw["value"])
        return {"present": validity(raw["value"]).view(np.uint8), **dict(zip(names, values, strict=True))}

    def merge(self, a: Columns, b: Columns) -> Columns:
        names = [field.name for field in self._layout.fields]
        left, right = [a[name] for name in names], [b[name] for name in names]
        beats = self._layout.less(right, left) if self.which == "min" else self._layout.less(left, right)
        take = (b["present"] != 0) & ((a["present"] == 0) | beats)
        chosen = {name: np.where(take, b[name], a[name]) for name in names}
        return {"present": a["present"] | b["present"], **chosen}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [c.value for c in contributions if c.value is not None]
        if not values:
            return self.identity
        best = (min if self.which == "min" else max)(values, key=_sortable)
        return (1, *self._layout.encode(best))

    def merge_one(self, a: State, b: State) -> State:
        if not (a[0] and b[0]):
            return a if a[0] else b
        left, right = (_sortable(self._layout.decode(state[1:])) for state in (a, b))
        return b if (right < left if self.which == "min" else left < right) else a

    def finalise(self, state: State) -> Value:
        if not state[0]:
            return None
        value = self._layout.decode(state[1:])
        return cast("float", value) + 0.0 if self.type.kind is Kind.DOUBLE else value


def _sortable(value: Value) -> Any:
    """A key that sorts as the contract does: Python compares strings by code point already, but not NaN."""
    return (math.isnan(value), value) if isinstance(value, float) else value
