"""Which expressions may raise an error for some row: those whose values can leave their type, and casts that can fail.

The SQL writers ask, because engines skip operands that a null or a constant makes irrelevant. Where a skipped operand
might have been an error they are made to evaluate it; everywhere else they may do as they like.
"""

from __future__ import annotations

from chronicle.expressions.arithmetic import Abs, Arithmetic, ArithmeticOperator, Negate, Round
from chronicle.expressions.nodes import Cast, Expression, children
from chronicle.expressions.precision import as_decimal, division_scales
from chronicle.types import INT64, MAX_PRECISION, DataType, Kind


def can_fail(expression: Expression) -> bool:
    return _itself(expression) or any(can_fail(child) for child in children(expression))


def _itself(expression: Expression) -> bool:
    match expression:
        case Negate() | Abs():
            return expression.type == INT64
        case Arithmetic():
            return _arithmetic(expression)
        case Round(operand=operand, digits=digits):
            if operand.type == INT64:
                return digits < 0
            return operand.type.kind is Kind.DECIMAL and digits < operand.type.scale and operand.type.precision == 38
        case Cast(operand, target):
            return not _always_fits(operand.type, target)
        case _:
            return False


def _arithmetic(expression: Arithmetic) -> bool:
    left, right = expression.left.type, expression.right.type
    if expression.operator is ArithmeticOperator.MODULO or left.kind is Kind.DOUBLE:
        return False
    if expression.operator is ArithmeticOperator.DIVIDE:
        return dividend_may_overflow(left, right) or divisor_may_overflow(left, right)
    return left == INT64 or expression.type.precision == MAX_PRECISION


def dividend_may_overflow(left: DataType, right: DataType) -> bool:
    return digits_at(left, division_scales(left, right)[0]) > MAX_PRECISION


def divisor_may_overflow(left: DataType, right: DataType) -> bool:
    return digits_at(right, division_scales(left, right)[1]) > MAX_PRECISION


def digits_at(type_: DataType, scale: int) -> int:
    exact = as_decimal(type_)
    return exact.precision - exact.scale + scale


def _always_fits(source: DataType, target: DataType) -> bool:
    if source.is_exact and target.kind is Kind.DECIMAL:
        exact = as_decimal(source)
        carry = 1 if target.scale < exact.scale else 0
        return exact.precision - exact.scale + carry <= target.precision - target.scale
    if target.kind in (Kind.STRING, Kind.DOUBLE):
        return source.kind is not Kind.STRING
    return source.kind in (Kind.BOOL, Kind.DATE, Kind.TIMESTAMP)
