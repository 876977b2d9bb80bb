"""Derived columns and tiers, computed on a finalised row when it is looked up (chronicle-data-model §5.3).

Nothing of this is kept in the state: a discount "by all that was spent this month" is right at every instant, because
it is worked out from the sum as it stands. The engine's lookups and the reference evaluator share this code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from typing import cast

from chronicle.errors import ChronicleError
from chronicle.expressions import Arithmetic, Cast, ColumnRef, Expression, evaluator
from chronicle.types import Kind, Value
from views.checked import CheckedView, Derived, Step, Tiers

Row = Mapping[str, Value]
Derivation = Callable[[Row], Value]

_EXACT = Context(prec=120)
"""Wider than any product of two decimals of the contract, so that nothing is rounded on the way."""


class DerivationOverflowError(ChronicleError):
    """A derived value that its type cannot hold; only this row's lookup fails."""


def deriver(view: CheckedView) -> Callable[[Row], dict[str, Value]]:
    """The function that extends a finalised row of the view (its keys and aggregates) by the derived columns."""
    extend = extender(view)

    def derive(row: Row) -> dict[str, Value]:
        extended = dict(row)
        extend(extended)
        return extended

    return derive


def extender(view: CheckedView) -> Callable[[dict[str, Value]], None]:
    """The same in place, for lookups: a copy of the row would cost as much as a derived column."""
    scales = _shown_scales(view)
    steps = [(derived.name, _derivation(derived), scales.get(derived.name)) for derived in view.derived]

    def extend(row: dict[str, Value]) -> None:
        for name, compute, scale in steps:  # in dependency order: each sees those before it
            value = compute(row)
            row[name] = shorten(value, scale) if scale is not None and isinstance(value, Decimal) else value

    return extend


def _derivation(derived: Derived) -> Derivation:
    match derived.value:
        case Tiers() as tiers:
            return _tiers(derived.name, tiers)
        case expression:
            return evaluator(expression)


def _tiers(name: str, tiers: Tiers) -> Derivation:
    of = evaluator(tiers.of)
    amount = _by_volume if tiers.mode == "volume" else _graduated
    limit = Decimal(10) ** (tiers.type.precision - tiers.type.scale)
    quantum = Decimal(1).scaleb(-tiers.type.scale)

    def compute(row: Row) -> Value:
        value = of(row)
        if value is None:
            return None
        if tiers.type.kind is Kind.DOUBLE:
            return float(amount(Decimal(cast("float", value)), tiers.steps))
        exact = amount(value if isinstance(value, Decimal) else Decimal(cast("int", value)), tiers.steps)
        if exact.copy_abs() >= limit:
            raise DerivationOverflowError(f"{name} is {exact}, more than {tiers.type} can hold", "use smaller rates")
        return exact.quantize(quantum, context=_EXACT)

    return compute


def _by_volume(value: Decimal, steps: Sequence[Step]) -> Decimal:
    """The rate of the highest step reached, on the whole value. Exactly at `above` a step is not reached."""
    for step in reversed(steps):
        if value > step.above:
            return _EXACT.multiply(value, step.rate)
    return Decimal(0)


def _graduated(value: Decimal, steps: Sequence[Step]) -> Decimal:
    """Each step's rate on the part of the value between its `above` and the next one's."""
    total = Decimal(0)
    for step, after in pairwise((*steps, None)):
        assert step is not None  # only the last of the chain is None
        if value > step.above:
            upper = value if after is None else min(value, after.above)
            total = _EXACT.add(total, _EXACT.multiply(_EXACT.subtract(upper, step.above), step.rate))
    return total


@lru_cache(maxsize=64)
def _quantum(scale: int) -> Decimal:
    return Decimal(1).scaleb(-scale)


def shorten(value: Decimal, scale: int) -> Decimal:
    """The same number without trailing zeros, but with at least `scale` places: 6.2800 is shown as 6.28."""
    shortest = value.normalize(_EXACT)
    padded = shortest.quantize(_quantum(scale), context=_EXACT)
    return padded if padded == shortest else shortest


def _shown_scales(view: CheckedView) -> dict[str, int]:
    """How many places a column shows at least, for those that tiers make longer than what they are of.

    A rate has places of its own (31.40 · 0.20 = 6.2800), which say nothing; where they do (6.2833) all are shown.
    """
    least: dict[str, int] = {}
    for name, value in ((derived.name, derived.value) for derived in view.derived):
        scale = _least_scale(value.of if isinstance(value, Tiers) else value, least)
        if value.type.kind is Kind.DECIMAL and scale < value.type.scale:
            least[name] = scale
    return least


def _least_scale(expression: Expression, least: Mapping[str, int]) -> int:
    """The places that an expression needs: only sums and differences hand on that an operand is shortened."""
    match expression:
        case ColumnRef(name=name):
            return least.get(name, expression.type.scale)
        case Cast(operand=operand, implicit=True) if operand.type.is_exact:
            return _least_scale(operand, least)
        case Arithmetic(operator="+" | "-", left=left, right=right):
            return max(_least_scale(left, least), _least_scale(right, least))
        case _:
            return expression.type.scale
