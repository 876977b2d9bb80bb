"""Expressions over Python values: compiled once to closures, then called for each row.

Every operand is evaluated, even where a null beside it already decides; only `case` and `coalesce` choose what to
evaluate. So whether a row is an error does not depend on the engine that evaluates it (docs/expressions.md).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, assert_never

from calendars import Zone
from chronicle.expressions import exact, text
from chronicle.expressions.arithmetic import Abs, Arithmetic, ArithmeticOperator, Negate, Round, RoundingMode
from chronicle.expressions.casting import cast_value
from chronicle.expressions.conditions import And, Comparison, ComparisonOperator, In, IsNull, Like, Not, Or
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Substr
from chronicle.expressions.instants import extract_date, extract_instant, truncate_date, truncate_instant
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Case, Cast, Coalesce, Expression, Extreme
from chronicle.types import DATE, DOUBLE, DataType, Kind, Value

Row = Mapping[str, Value]
Evaluator = Callable[[Row], Any]
"""A closure over rows. What it returns is a Value of the expression's type, which the type checker cannot follow."""


def evaluator(expression: Expression) -> Callable[[Row], Value]:
    """The expression as a function of a row (column name to value); it raises EvaluationError for bad values."""
    return _compiled(expression)


def _compiled(expression: Expression) -> Evaluator:
    match expression:
        case Literal(value):
            return lambda row: value
        case ColumnRef(name):
            return operator.itemgetter(name)
        case Negate() | Abs() | Round() | ChangeCase() | Length() | Like() | Extract() | DateTrunc() | Cast() | Not():
            return _strict(_unary(expression), expression.operand)
        case Arithmetic(left=left, right=right):
            return _strict(_arithmetic(expression), left, right)
        case Comparison(left=left, right=right):
            return _strict(_comparison(expression), left, right)
        case Substr(operand, start, length):
            return _strict(text.substring, operand, start, *(() if length is None else (length,)))
        case Concat(operands):
            return _strict(lambda *parts: "".join(parts), *operands)
        case And(operands):
            return _logical(operands, decides=False)
        case Or(operands):
            return _logical(operands, decides=True)
        case IsNull(operand):
            inner = _compiled(operand)
            return lambda row: inner(row) is None
        case In():
            return _membership(expression)
        case Case(branches, otherwise):
            return _case([(_compiled(when), _compiled(then)) for when, then in branches], _compiled(otherwise))
        case Coalesce(operands):
            return _coalesce([_compiled(operand) for operand in operands])
        case Extreme():
            return _extreme(expression)
    assert_never(expression)


def _strict(function: Callable[..., Any], *operands: Expression) -> Evaluator:
    """Null where any operand is null, but only after all of them were evaluated."""
    inner = [_compiled(operand) for operand in operands]
    if len(inner) == 1:
        (only,) = inner
        return lambda row: None if (value := only(row)) is None else function(value)
    if len(inner) == 2:
        return _strict_pair(function, *inner)

    def evaluate(row: Row) -> Any:
        values = [each(row) for each in inner]
        return None if None in values else function(*values)

    return evaluate


def _strict_pair(function: Callable[..., Any], left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate(row: Row) -> Any:
        a, b = left(row), right(row)
        return None if a is None or b is None else function(a, b)

    return evaluate


def _unary(
    expression: Negate | Abs | Round | ChangeCase | Length | Like | Extract | DateTrunc | Cast | Not,
) -> Callable[[Any], Any]:
    match expression:
        case Negate():
            return _within(operator.neg, expression.type)
        case Abs():
            return _within(abs, expression.type)
        case Round():
            return _rounding(expression)
        case Cast(operand, target):
            source = operand.type
            if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL:
                return lambda value: exact.fit_decimal(value, target)
            return lambda value: cast_value(value, source, target)
        case Not():
            return operator.not_
        case ChangeCase(upper):
            return text.to_upper if upper else text.to_lower
        case Length():
            return len
        case Like(_, pattern, escape):
            matches = re.compile(text.like_to_regex(pattern, escape), re.DOTALL).fullmatch
            return lambda value: matches(value) is not None
        case Extract(part, operand, zone):
            clock = Zone.named(zone)
            if operand.type == DATE:
                return lambda value: extract_date(part, value)
            return lambda value: extract_instant(part, value, clock)
        case DateTrunc(unit, operand, zone):
            clock = Zone.named(zone)
            if operand.type == DATE:
                return lambda value: truncate_date(unit, value)
            return lambda value: truncate_instant(unit, value, clock)
    assert_never(expression)


def _within(function: Callable[..., Any], type_: DataType) -> Callable[..., Any]:
    """The result, checked against the type that it must fit."""
    match type_.kind:
        case Kind.INT64:
            return lambda *values: exact.fit_int(function(*values), type_)
        case Kind.DECIMAL:
            exactly = _IN_DECIMAL[function]
            return lambda *values: exact.fit_decimal(exactly(*values), type_)
        case _:
            return function


_IN_DECIMAL: dict[Callable[..., Any], Callable[..., Decimal]] = {
    operator.add: exact.EXACT.add,
    operator.sub: exact.EXACT.subtract,
    operator.mul: exact.EXACT.multiply,
    operator.neg: exact.EXACT.minus,
    abs: exact.EXACT.abs,
}


def _arithmetic(expression: Arithmetic) -> Callable[[Any, Any], Any]:
    match expression.operator:
        case ArithmeticOperator.ADD:
            return _within(operator.add, expression.type)
        case ArithmeticOperator.SUBTRACT:
            return _within(operator.sub, expression.type)
        case ArithmeticOperator.MULTIPLY:
            return _within(operator.mul, expression.type)
        case ArithmeticOperator.DIVIDE:
            return _unless_zero(_division(expression))
        case ArithmeticOperator.MODULO:
            return _unless_zero(_remainder(expression.type))
    assert_never(expression.operator)


def _unless_zero(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: None if right == 0 else function(left, right)


def _division(expression: Arithmetic) -> Callable[[Any, Any], Any]:
    left, right, type_ = expression.left.type, expression.right.type, expression.type
    if type_ == DOUBLE:
        return operator.truediv
    if left.kind is Kind.INT64 and right.kind is Kind.INT64:
        return exact.divide_whole
    return lambda a, b: exact.divide_exact(Decimal(a), Decimal(b), left, right, type_)


def _remainder(type_: DataType) -> Callable[[Any, Any], Any]:
    """With the sign of the dividend, as in C, Java and SQL."""
    match type_.kind:
        case Kind.INT64:
            return lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
        case Kind.DECIMAL:
            return lambda a, b: exact.fit_decimal(exact.EXACT.remainder(a, b), type_)
        case _:
            return exact.remainder_of_doubles


def _rounding(expression: Round) -> Callable[[Any], Any]:
    mode, digits, type_ = expression.mode, expression.digits, expression.type
    match type_.kind:
        case Kind.DOUBLE:
            return lambda value: exact.round_double(value, mode, digits)
        case Kind.DECIMAL:
            return lambda value: exact.round_decimal(value, mode, digits, type_)
        case _ if digits < 0 and mode is RoundingMode.ROUND:
            return lambda value: exact.round_int(value, digits)
        case _:
            return lambda value: value


def _order(type_: DataType) -> Callable[[Any], Any]:
    """What values are compared by: NaN equals itself and is greater than every number."""
    return (lambda value: (math.isnan(value), 0.0 if math.isnan(value) else value)) if type_ == DOUBLE else lambda v: v


_COMPARES: dict[ComparisonOperator, Callable[[Any, Any], bool]] = {
    ComparisonOperator.EQ: operator.eq,
    ComparisonOperator.NE: operator.ne,
    ComparisonOperator.LT: operator.lt,
    ComparisonOperator.LE: operator.le,
    ComparisonOperator.GT: operator.gt,
    ComparisonOperator.GE: operator.ge,
}


def _comparison(expression: Comparison) -> Callable[[Any, Any], bool]:
    compares = _COMPARES[expression.operator]
    if expression.left.type != DOUBLE:
        return compares
    order = _order(DOUBLE)
    return lambda left, right: compares(order(left), order(right))


def _logical(operands: tuple[Expression, ...], decides: bool) -> Evaluator:
    """`and` is decided by a false, `or` by a true; otherwise any null makes it null."""
    inner = [_compiled(operand) for operand in operands]

    def evaluate(row: Row) -> bool | None:
        values = [each(row) for each in inner]
        if decides in values:
            return decides
        return None if None in values else not decides

    return evaluate


def _membership(expression: In) -> Evaluator:
    inner, order = _compiled(expression.operand), _order(expression.operand.type)
    items = frozenset(order(item.value) for item in expression.items if item.value is not None)
    absent = None if any(item.value is None for item in expression.items) else False

    def evaluate(row: Row) -> bool | None:
        value = inner(row)
        return None if value is None else True if order(value) in items else absent

    return evaluate


def _case(branches: list[tuple[Evaluator, Evaluator]], otherwise: Evaluator) -> Evaluator:
    def evaluate(row: Row) -> Any:
        for when, then in branches:
            if when(row):
                return then(row)
        return otherwise(row)

    return evaluate


def _coalesce(operands: list[Evaluator]) -> Evaluator:
    def evaluate(row: Row) -> Any:
        for operand in operands:
            if (value := operand(row)) is not None:
                return value
        return None

    return evaluate


def _extreme(expression: Extreme) -> Evaluator:
    inner = [_compiled(operand) for operand in expression.operands]
    choose, order = (max if expression.greatest else min), _order(expression.type)

    def evaluate(row: Row) -> Any:
        values = [value for each in inner if (value := each(row)) is not None]
        return choose(values, key=order) if values else None

    return evaluate
