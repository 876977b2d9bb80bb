"""sum: exact for int64 and decimals (a state wider than any result, so no order of merging shows), float64 for doubles.

A sum may pass the limits of its result type and come back; only what a lookup would show has to fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, cast

import numpy as np

from chronicle.types import MAX_PRECISION, DataType, Kind, Value
from views.aggregates.monoid import (
    ORDER,
    Array,
    Columns,
    Contribution,
    Field,
    Raw,
    ResultOverflowError,
    State,
    aggregated,
)
from views.aggregates.values import fixed, require_scale, scaled, unscaled
from views.aggregates.wide import NARROW_DIGITS, add, join, limb_fields, limbs_of_decimal128, split, validity

SAFE_DIGITS = 28
"""Up to here DuckDB's 128-bit sum holds the partial of any micro-batch (10^10 addends)."""

_LOW_HALF = "18446744073709551615::HUGEINT"
_INT64_LIMIT = 1 << 63
_DECIMAL_LIMIT = 10**MAX_PRECISION


@dataclass(frozen=True, slots=True)
class WideSum:
    """The exact total of an exact argument, as unscaled integer in limbs: what sum and avg have in common."""

    argument: DataType

    @property
    def limbs(self) -> int:
        return 3 if self.argument.precision > NARROW_DIGITS else 2

    @property
    def fields(self) -> tuple[Field, ...]:
        return limb_fields("sum", self.limbs)

    @property
    def zero(self) -> tuple[int, ...]:
        return (0,) * self.limbs

    def partial_sql(self, argument: str, where: str | None) -> dict[str, str]:
        if self.argument.precision <= SAFE_DIGITS:
            return {"sum": aggregated(f"sum({argument})", where)}
        # DuckDB's sum of wide decimals may overflow 128 bits and fail the whole batch: the halves are summed apart.
        digits = f"CAST(replace(CAST({argument} AS VARCHAR), '.', '') AS HUGEINT)"
        return {
            "upper": aggregated(f"sum(CAST({digits} >> 64 AS BIGINT))", where),
            "lower": aggregated(f"sum(CAST({digits} & {_LOW_HALF} AS UBIGINT))", where),
        }

    def finish_partial(self, raw: Raw) -> tuple[Array, list[Array]]:
        """Which groups had a value, and the limbs."""
        if self.argument.precision <= SAFE_DIGITS:
            require_scale(raw["sum"], self.argument.scale)
            high, low = limbs_of_decimal128(raw["sum"])
            limbs = [high, low] if self.limbs == 2 else [high >> np.int64(63), high.view(np.uint64), low]
            return validity(raw["sum"]), limbs
        upper_high, upper_low = limbs_of_decimal128(raw["upper"])
        lower_high, lower_low = limbs_of_decimal128(raw["lower"])
        nothing = np.zeros(len(upper_low), np.uint64)
        extended = [np.zeros(len(upper_low), np.int64), lower_high.view(np.uint64), lower_low]
        return validity(raw["upper"]), add([upper_high, upper_low, nothing], extended)

    def merge(self, a: Columns, b: Columns) -> Columns:
        names = [field.name for field in self.fields]
        limbs = add([a[name] for name in names], [b[name] for name in names])
        return dict(zip(names, limbs, strict=True))

    def total(self, values: Iterable[Value]) -> int:
        scale = self.argument.scale
        return sum(unscaled(v, scale) if isinstance(v, Decimal) else cast("int", v) for v in values)


@dataclass(frozen=True, slots=True)
class ExactSum:
    argument: DataType
    result: DataType
    inexact: ClassVar = False

    @property
    def _wide(self) -> WideSum:
        return WideSum(self.argument)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("present", "|u1"), *self._wide.fields)

    @property
    def identity(self) -> State:
        return (0, *self._wide.zero)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return self._wide.partial_sql(arguments[0], where)

    def finish_partial(self, raw: Raw) -> Columns:
        present, limbs = self._wide.finish_partial(raw)
        names = [field.name for field in self._wide.fields]
        return {"present": present.view(np.uint8), **dict(zip(names, limbs, strict=True))}

    def merge(self, a: Columns, b: Columns) -> Columns:
        return {"present": a["present"] | b["present"], **self._wide.merge(a, b)}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [c.value for c in contributions if c.value is not None]
        return (int(bool(values)), *split(self._wide.total(values), self._wide.limbs))

    def merge_one(self, a: State, b: State) -> State:
        left, right = cast("tuple[int, ...]", a), cast("tuple[int, ...]", b)
        return (left[0] | right[0], *split(join(left[1:]) + join(right[1:]), len(left) - 1))

    def finalise(self, state: State) -> Value:
        if not state[0]:
            return None
        return in_type(join(cast("tuple[int, ...]", state)[1:]), self.result, "sum")


def in_type(number: int, result: DataType, what: str) -> Value:
    """An unscaled integer as a value of its exact type, or ResultOverflowError."""
    limit = _INT64_LIMIT if result.kind is Kind.INT64 else _DECIMAL_LIMIT
    if not (-limit <= number < limit if result.kind is Kind.INT64 else -limit < number < limit):
        raise ResultOverflowError(
            f"the {what} is {scaled(number, result.scale)}, more than {result} can hold",
            "cast the argument to a wider type (decimal), or to double where digits may be lost",
        )
    return number if result.kind is Kind.INT64 else scaled(number, result.scale)


def finite(number: float, what: str) -> float:
    """A double result as it is shown, or ResultOverflowError: no lookup answers with infinity."""
    if not math.isfinite(number):
        raise ResultOverflowError(f"the {what} is {number}: it left the range of a double", "scale the argument down")
    return number + 0.0  # turns -0.0 into 0.0, so that equal results look equal


@dataclass(frozen=True, slots=True)
class DoubleSum:
    """Sums of doubles depend on the order of addition in their last digits: `explain` marks them inexact."""

    fields: ClassVar = (Field("present", "|u1"), Field("sum", "<f8"))
    identity: ClassVar[State] = (0, 0.0)
    inexact: ClassVar = True

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        return {"sum": aggregated(f"sum({arguments[0]})", where)}

    def finish_partial(self, raw: Raw) -> Columns:
        return {"present": validity(raw["sum"]).view(np.uint8), "sum": fixed(raw["sum"], "<f8")}

    def merge(self, a: Columns, b: Columns) -> Columns:
        return {"present": a["present"] | b["present"], "sum": a["sum"] + b["sum"]}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        values = [cast("float", c.value) for c in contributions if c.value is not None]
        return (int(bool(values)), sum(values, 0.0))

    def merge_one(self, a: State, b: State) -> State:
        return (cast("int", a[0]) | cast("int", b[0]), cast("float", a[1]) + cast("float", b[1]))

    def finalise(self, state: State) -> Value:
        return finite(cast("float", state[1]), "sum") if state[0] else None
