"""The types of exact arithmetic: how precision and scale grow, and what happens at 38 digits.

Sums and products keep every digit: their scale is never cut. Where the precision would pass 38 it stays at 38, and a
value that then does not fit is an error when it is computed. Only a product whose scale alone passes 38 is refused.
"""

from __future__ import annotations

from chronicle.types import DOUBLE, INT64, MAX_PRECISION, DataType, Kind, decimal

QUOTIENT_SCALE = 9
"""The scale of every division of exact numbers (contract, Types)."""

INT64_DIGITS = 19


def as_decimal(exact: DataType) -> DataType:
    """The decimal type that holds every value of an exact type."""
    return exact if exact.kind is Kind.DECIMAL else decimal(INT64_DIGITS, 0)


def capped(precision: int, scale: int) -> DataType:
    if scale > MAX_PRECISION:
        raise ValueError(f"the result would have {scale} digits after the point; a decimal has at most {MAX_PRECISION}")
    return decimal(max(1, min(precision, MAX_PRECISION)), scale)


def sum_type(left: DataType, right: DataType) -> DataType:
    scale = max(left.scale, right.scale)
    return capped(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def product_type(left: DataType, right: DataType) -> DataType:
    return capped(left.precision + right.precision, left.scale + right.scale)


def quotient_type(left: DataType, right: DataType) -> DataType:
    """The divisor is at least one unit of its last place, so the digits before the point grow by its scale."""
    left, right = as_decimal(left), as_decimal(right)
    division_scales(left, right)
    return capped(left.precision - left.scale + right.scale + QUOTIENT_SCALE, QUOTIENT_SCALE)


def division_scales(left: DataType, right: DataType) -> tuple[int, int]:
    """The scales of dividend and divisor at which the quotient of their whole numbers has scale 9."""
    dividend = max(left.scale, right.scale + QUOTIENT_SCALE)
    if dividend > MAX_PRECISION:
        raise ValueError(
            f"the divisor has {right.scale} digits after the point; it may have {MAX_PRECISION - QUOTIENT_SCALE}"
        )
    return dividend, dividend - QUOTIENT_SCALE


def remainder_type(left: DataType, right: DataType) -> DataType:
    """No larger than either operand, so this never overflows."""
    scale = max(left.scale, right.scale)
    return capped(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def rounded_type(operand: DataType, digits: int) -> DataType:
    """Rounding may carry into one more digit before the point."""
    if operand.kind is not Kind.DECIMAL or digits >= operand.scale:
        return operand
    return capped(operand.precision - operand.scale + max(digits, 0) + 1, max(digits, 0))


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type in which values of two types meet: to compare them, or as the branches of one `case`."""
    if left == right:
        return left
    if left.is_exact and right.is_exact:
        left, right = as_decimal(left), as_decimal(right)
        scale = max(left.scale, right.scale)
        return capped(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)
    if left.is_numeric and right.is_numeric:
        return DOUBLE
    if {left.kind, right.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return DataType(Kind.TIMESTAMP)
    return None


def is_wide(exact: DataType) -> bool:
    """Whether values of this type may pass what 64 bits hold."""
    return exact != INT64 and exact.precision >= INT64_DIGITS
