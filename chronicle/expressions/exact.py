"""Numbers in Python as docs/expressions.md pins them: exact, checked against their type, half away from zero."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import lru_cache

from chronicle.expressions.arithmetic import RoundingMode
from chronicle.expressions.errors import EvaluationError
from chronicle.expressions.precision import QUOTIENT_SCALE, division_scales
from chronicle.types import INT64, MAX_PRECISION, DataType

EXACT = Context(prec=400, Emax=10_000, Emin=-10_000)
"""Wide enough for every double and for every product of decimals; what does not fit its type is found afterwards."""

_MODES = {
    RoundingMode.ROUND: ROUND_HALF_UP,
    RoundingMode.FLOOR: ROUND_FLOOR,
    RoundingMode.CEIL: ROUND_CEILING,
}
_INT64 = range(-(1 << 63), 1 << 63)
_WIDEST = 10**MAX_PRECISION
_QUOTIENT_UNIT = 10**QUOTIENT_SCALE

WHOLE_DOUBLE = 2.0**52
"""From here on every double is a whole number, so that no rounding changes it."""


def overflow(what: str, type_: DataType) -> EvaluationError:
    return EvaluationError(f"overflow: {what} does not fit {type_}", "widen the type, or leave out such values")


def fit_int(value: int, type_: DataType) -> int:
    if value not in _INT64:
        raise overflow(str(value), type_)
    return value


@lru_cache(maxsize=256)
def _power(exponent: int) -> Decimal:
    return Decimal(1).scaleb(exponent, EXACT)


def fit_decimal(value: Decimal, type_: DataType, mode: str = ROUND_HALF_UP) -> Decimal:
    """The value with the type's scale; an error where it has too many digits before the point."""
    limit = _power(type_.precision - type_.scale)
    try:
        result = value.quantize(_power(-type_.scale), mode, EXACT)
    except InvalidOperation:
        raise overflow(str(value), type_) from None
    if result.copy_abs() >= limit:
        raise overflow(f"{result:f}", type_)
    return result if result else abs(result)


def unscaled(value: Decimal, scale: int) -> int:
    return int(value.scaleb(scale, EXACT))


def divide_exact(dividend: Decimal, divisor: Decimal, left: DataType, right: DataType, type_: DataType) -> Decimal:
    """Both operands are brought to whole numbers of at most 38 digits, whose quotient has scale 9."""
    dividend_scale, divisor_scale = division_scales(left, right)
    numerator, denominator = unscaled(dividend, dividend_scale), unscaled(divisor, divisor_scale)
    if abs(numerator) >= _WIDEST or abs(denominator) >= _WIDEST:
        raise overflow(f"{dividend} / {divisor}", type_)
    return _quotient(numerator, denominator)


def divide_whole(dividend: int, divisor: int) -> Decimal:
    """`divide_exact` of two int64: their quotient always fits."""
    return _quotient(dividend * _QUOTIENT_UNIT, divisor)


def _quotient(numerator: int, denominator: int) -> Decimal:
    size = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return Decimal(size if (numerator < 0) == (denominator < 0) else -size).scaleb(-QUOTIENT_SCALE, EXACT)


def remainder_of_doubles(left: float, right: float) -> float:
    return math.nan if math.isinf(left) or math.isnan(left) or math.isnan(right) else math.fmod(left, right)


def round_decimal(value: Decimal, mode: RoundingMode, digits: int, type_: DataType) -> Decimal:
    if digits == type_.scale:
        return fit_decimal(value, type_, _MODES[mode])
    shortened = value.quantize(_power(-digits), _MODES[mode], EXACT)
    return fit_decimal(shortened, type_)


def round_double(value: float, mode: RoundingMode, digits: int) -> float:
    """By the shortest decimal that reads back as this double, so that 2.675 rounds to 2.68 as people expect."""
    if not abs(value) < WHOLE_DOUBLE:
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), _MODES[mode], EXACT))


def round_int(value: int, digits: int) -> int:
    """To tens, hundreds and so on (`digits` is negative)."""
    unit = 10**-digits
    size = (abs(value) + unit // 2) // unit * unit
    return fit_int(size if value >= 0 else -size, INT64)
