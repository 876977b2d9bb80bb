"""avg: the exact total and the count; divided on lookup, to a decimal of scale 9 rounded half away from zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from chronicle.types import DataType, Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.sums import WideSum, finite, in_type
from views.aggregates.values import fixed
from views.aggregates.wide import join, split


def half_away(numerator: int, denominator: int) -> int:
    """numerator / denominator (positive) to the nearest integer; a half goes away from zero."""
    nearest = (2 * abs(numerator) + denominator) // (2 * denominator)
    return nearest if numerator >= 0 else -nearest


@dataclass(frozen=True, slots=True)
class ExactAverage:
    argument: DataType
    result: DataType
    inexact: ClassVar = False

    @property
    def _wide(self) -> WideSum:
        return WideSum(self.argument)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("n", "<i8"), *self._wide.fields)

    @property
    def identity(self) -> State:
        return (0, *self._wide.zero)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {"n": aggregated(f"count({arguments[0]})", where), **self._wide.partial_sql(arguments[0], where)}

    def finish_partial(self, raw: Raw) -> Columns:
        _, limbs = self._wide.finish_partial(raw)
        names = [field.name for field in self._wide.fields]
        return {"n": fixed(raw["n"], "<i8"), **dict(zip(names, limbs, strict=True))}

    def merge(self, a: Columns, b: Columns) -> Columns:
        return {"n": a["n"] + b["n"], **self._wide.merge(a, b)}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [c.value for c in contributions if c.value is not None]
        return (len(values), *split(self._wide.total(values), self._wide.limbs))

    def merge_one(self, a: State, b: State) -> State:
        left, right = cast("tuple[int, ...]", a), cast("tuple[int, ...]", b)
        return (left[0] + right[0], *split(join(left[1:]) + join(right[1:]), len(left) - 1))

    def finalise(self, state: State) -> Value:
        n, *limbs = cast("tuple[int, ...]", state)
        if not n:
            return None
        up = 10 ** max(self.result.scale - self.argument.scale, 0)
        down = 10 ** max(self.argument.scale - self.result.scale, 0)
        return in_type(half_away(join(limbs) * up, n * down), self.result, "avg")


@dataclass(frozen=True, slots=True)
class DoubleAverage:
    fields: ClassVar = (Field("n", "<i8"), Field("sum", "<f8"))
    identity: ClassVar[State] = (0, 0.0)
    inexact: ClassVar = True

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {
            "n": aggregated(f"count({arguments[0]})", where),
            "sum": aggregated(f"sum({arguments[0]})", where),
        }

    def finish_partial(self, raw: Raw) -> Columns:
        return {"n": fixed(raw["n"], "<i8"), "sum": fixed(raw["sum"], "<f8")}

    def merge(self, a: Columns, b: Columns) -> Columns:
        return {"n": a["n"] + b["n"], "sum": a["sum"] + b["sum"]}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [cast("float", c.value) for c in contributions if c.value is not None]
        return (len(values), sum(values, 0.0))

    def merge_one(self, a: State, b: State) -> State:
        return (cast("int", a[0]) + cast("int", b[0]), cast("float", a[1]) + cast("float", b[1]))

    def finalise(self, state: State) -> Value:
        n, total = cast("tuple[int, float]", state)
        return finite(total / n, "avg") if n else None
