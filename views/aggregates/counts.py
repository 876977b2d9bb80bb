"""count(*) and count(x): how many tuples, or how many that are not null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from chronicle.types import Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.values import fixed


@dataclass(frozen=True, slots=True)
class Count:
    fields: ClassVar = (Field("n", "<i8"),)
    identity: ClassVar[State] = (0,)
    inexact: ClassVar = False

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {"n": aggregated(f"count({arguments[0] if arguments else '*'})", where)}

    def finish_partial(self, raw: Raw) -> Columns:
        return {"n": fixed(raw["n"], "<i8")}

    def merge(self, a: Columns, b: Columns) -> Columns:
        return {"n": a["n"] + b["n"]}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        return (sum(c.value is not None for c in contributions),)

    def merge_one(self, a: State, b: State) -> State:
        return (cast("int", a[0]) + cast("int", b[0]),)

    def finalise(self, state: State) -> Value:
        return cast("int", state[0])
