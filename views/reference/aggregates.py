"""Each aggregate straight from what it means, over all values at once: no states, nothing merged, nothing sketched.

The approximate ones are computed exactly; the engine's sketches are exact too up to the sizes that docs/aggregates.md
gives, and have to agree there. Doubles are summed without intermediate rounding.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Protocol, cast

from calendars import format_instant
from chronicle.expressions import evaluator
from chronicle.types import DataType, Kind, Value
from views.algebra import Aggregate

_EXACT = Context(prec=120)


class OverflowedError(Exception):
    """The result does not fit into its type."""


class Member(Protocol):
    """A tuple of the group, as the algebra has it."""

    @property
    def sn(self) -> int: ...
    @property
    def chronon(self) -> int: ...
    @property
    def pos(self) -> tuple[int, ...]: ...
    @property
    def environment(self) -> Mapping[str, Value]: ...


def aggregated(aggregate: Aggregate, members: Sequence[Member]) -> Value:
    """`function(argument) FILTER (WHERE filter)` over a group: nulls are left out, as in SQL."""
    if aggregate.filter is not None:
        holds = evaluator(aggregate.filter)
        members = [member for member in members if holds(member.environment) is True]
    if not aggregate.arguments:
        return len(members)
    argument = evaluator(aggregate.arguments[0])
    ordered = sorted(members, key=lambda member: (member.chronon, member.sn, member.pos))
    values = [value for member in ordered if (value := argument(member.environment)) is not None]
    return _of_values(aggregate, values)


def _of_values(aggregate: Aggregate, values: list[Any]) -> Value:
    match aggregate.function:
        case "count":
            return len(values)
        case "approx_distinct":
            return len(set(values))
        case "approx_top_k":
            return _top_k(values, aggregate.arguments[0].type, cast("int", aggregate.parameters[0]))
    if not values:
        return None
    match aggregate.function:
        case "sum":
            return _typed(_total(values), aggregate.type)
        case "avg":
            return _typed(_total(values) / len(values), aggregate.type)
        case "min":
            return cast("Value", min(values))
        case "max":
            return cast("Value", max(values))
        case "first":
            return cast("Value", values[0])
        case "last":
            return cast("Value", values[-1])
        case "bool_and":
            return all(values)
        case "bool_or":
            return any(values)
        case "approx_quantile":
            rank = max(math.ceil(aggregate.parameters[0] * len(values)), 1)
            return float(sorted(values)[rank - 1])
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _deviation(aggregate.function, values)
        case other:
            raise ValueError(f"the reference knows no aggregate {other}")


def _total(values: Sequence[Any]) -> Fraction:
    return sum((Fraction(value) for value in values), Fraction(0))


def _deviation(function: str, values: Sequence[Any]) -> float | None:
    freedom = len(values) if function.endswith("_pop") else len(values) - 1
    if freedom < 1:
        return None
    doubles = [Fraction(float(value)) for value in values]
    mean = _total(doubles) / len(doubles)
    variance = _double(_total([(value - mean) ** 2 for value in doubles]) / freedom)
    return math.sqrt(variance) if function.startswith("stddev") else variance


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise OverflowedError("the number is no double") from None


def _typed(number: Fraction, result: DataType) -> Value:
    """A number as a value of its type: doubles to the nearest, decimals half away from zero."""
    if result.kind is Kind.DOUBLE:
        return _double(number)
    unscaled = number * 10**result.scale
    rounded: int = math.floor(abs(unscaled) + Fraction(1, 2)) * (1 if unscaled >= 0 else -1)
    if result.kind is Kind.INT64:
        if not -(2**63) <= rounded < 2**63:
            raise OverflowedError(f"{rounded} is no int64")
        return rounded
    if abs(rounded) >= 10**result.precision:
        raise OverflowedError(f"{number} is no {result}")
    return Decimal(rounded).scaleb(-result.scale, _EXACT)


def _top_k(values: Sequence[Any], argument: DataType, k: int) -> str:
    """JSON text: the most frequent first, equal counts by value."""
    counted = sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))
    return json.dumps([[_shown(value, argument), n] for value, n in counted[:k]], ensure_ascii=False)


def _shown(value: Any, argument: DataType) -> Any:
    if argument.kind is Kind.TIMESTAMP:
        return format_instant(value)
    return str(value) if isinstance(value, Decimal | date) else value
