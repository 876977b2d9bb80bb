"""Every aggregate over every type it takes, and values to feed it: shared by the law tests."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

from hypothesis import strategies as st

from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType, Kind, Value, decimal
from views.aggregates import AGGREGATES, aggregate_type
from views.aggregates.monoid import Contribution, Monoid, ResultOverflowError, State
from views.aggregates.registry import monoid

TYPES = (STRING, INT64, DOUBLE, BOOL, TIMESTAMP, DATE, decimal(12, 2), decimal(25, 5), decimal(38, 10))
PARAMETERS: dict[str, tuple[int | float, ...]] = {"approx_quantile": (0.5,), "approx_top_k": (3,)}


def _takes(function: str, argument: DataType) -> bool:
    try:
        aggregate_type(function, [argument], PARAMETERS.get(function, ()))
    except ValueError:
        return False
    return True


CASES = [(function, argument) for function in AGGREGATES for argument in TYPES if _takes(function, argument)]


def monoid_for(function: str, argument: DataType) -> Monoid:
    return monoid(function, argument, PARAMETERS.get(function, ()))


def values(argument: DataType) -> st.SearchStrategy[object]:
    """Values of a type with its extremes and nulls; doubles are tame, so that sums of them can be compared at all."""
    match argument.kind:
        case Kind.STRING:
            made: st.SearchStrategy[object] = st.text(st.characters(codec="utf-8"), max_size=4)
        case Kind.INT64:
            made = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
        case Kind.DOUBLE:
            made = st.integers(-1000, 1000).map(lambda n: n / 8)
        case Kind.BOOL:
            made = st.booleans()
        case Kind.TIMESTAMP:
            made = st.integers(0, 4 * 10**15)
        case Kind.DATE:
            made = st.dates(date(1900, 1, 1), date(2200, 1, 1))
        case Kind.DECIMAL:
            limit = 10**argument.precision - 1
            made = (st.integers(-limit, limit) | st.sampled_from([limit, -limit, 0])).map(
                lambda n: Decimal(f"{n}E-{argument.scale}")
            )
    return st.none() | made


def contributions(argument: DataType, first_sn: int = 0) -> st.SearchStrategy[list[Contribution]]:
    """Some tuples, each append its own sn from `first_sn` on: two lists with other first sns share no append."""
    drawn = st.tuples(values(argument), st.integers(0, 3), st.integers(0, 3), st.integers(0, 9))
    return st.lists(
        drawn.map(lambda v: Contribution(v[0], v[2], first_sn + v[1], (v[3],))),  # type: ignore[arg-type]  # drawn by type
        max_size=8,
        unique_by=lambda c: (c.sn, c.pos),
    ).map(_one_chronon_per_append)


def _one_chronon_per_append(drawn: list[Contribution]) -> list[Contribution]:
    chronon = {c.sn: c.chronon for c in drawn}
    return [c._replace(chronon=chronon[c.sn]) for c in drawn]


def answer(monoid: Monoid, state: State) -> Value:
    try:
        return monoid.finalise(state)
    except ResultOverflowError as overflow:
        return str(overflow)


def agree(monoid: Monoid, a: State, b: State) -> bool:
    """Exact states are equal bit by bit; inexact ones (doubles, sketches) answer the same up to rounding."""
    if not monoid.inexact:
        return a == b
    left, right = answer(monoid, a), answer(monoid, b)
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, _size(a)))
    return left == right


def _size(state: State) -> float:
    return max((abs(s) for s in state if isinstance(s, float)), default=1.0)
