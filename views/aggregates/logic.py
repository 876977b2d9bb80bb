"""bool_and and bool_or, as a minimum and a maximum of three ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np

from chronicle.types import Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.values import fixed
from views.aggregates.wide import validity


@dataclass(frozen=True, slots=True)
class Logic:
    """Ranks that make the merge a plain minimum (bool_and: false 0, true 1, nothing 2) or maximum (bool_or: nothing 0,
    false 1, true 2)."""

    which: Literal["bool_and", "bool_or"]
    fields: ClassVar = (Field("rank", "|u1"),)
    inexact: ClassVar = False

    @property
    def _nothing(self) -> int:
        return 2 if self.which == "bool_and" else 0

    @property
    def _false(self) -> int:
        return 0 if self.which == "bool_and" else 1

    @property
    def identity(self) -> State:
        return (self._nothing,)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {"value": aggregated(f"{self.which}({arguments[0]})", where)}

    def finish_partial(self, raw: Raw) -> Columns:
        ranks = fixed(raw["value"], "|u1") + np.uint8(self._false)
        return {"rank": np.where(validity(raw["value"]), ranks, np.uint8(self._nothing))}

    def merge(self, a: Columns, b: Columns) -> Columns:
        best = np.minimum if self.which == "bool_and" else np.maximum
        return {"rank": best(a["rank"], b["rank"])}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [bool(c.value) for c in contributions if c.value is not None]
        if not values:
            return self.identity
        return (self._false + (all(values) if self.which == "bool_and" else any(values)),)

    def merge_one(self, a: State, b: State) -> State:
        ranks = cast("tuple[int, int]", (a[0], b[0]))
        return (min(ranks) if self.which == "bool_and" else max(ranks),)

    def finalise(self, state: State) -> Value:
        return None if state[0] == self._nothing else state[0] != self._false
