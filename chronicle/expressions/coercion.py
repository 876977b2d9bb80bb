"""Bringing operands to one type: what may stand for what without a written cast, and which casts there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from sqlglot import exp

from chronicle.expressions.casting import cast_value
from chronicle.expressions.errors import EvaluationError, ExpressionCode, ExpressionError
from chronicle.expressions.leaves import Literal
from chronicle.expressions.nodes import Cast, Expression
from chronicle.expressions.parsing import offset_of
from chronicle.expressions.precision import as_decimal, common_type
from chronicle.types import DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType, Kind, decimal

_CASTS: dict[Kind, frozenset[Kind]] = {
    Kind.STRING: frozenset(Kind),
    Kind.INT64: frozenset({Kind.DOUBLE, Kind.DECIMAL, Kind.STRING}),
    Kind.DOUBLE: frozenset({Kind.INT64, Kind.DECIMAL}),
    Kind.DECIMAL: frozenset({Kind.INT64, Kind.DOUBLE, Kind.DECIMAL, Kind.STRING}),
    Kind.BOOL: frozenset({Kind.INT64, Kind.STRING}),
    Kind.TIMESTAMP: frozenset({Kind.DATE, Kind.STRING}),
    Kind.DATE: frozenset({Kind.TIMESTAMP, Kind.STRING}),
}


def castable(source: DataType, target: DataType) -> bool:
    return source == target or target.kind in _CASTS[source.kind]


def is_null(expression: Expression) -> bool:
    """A constant null has every type."""
    return isinstance(expression, Literal) and expression.value is None


def cast(expression: Expression, target: DataType, *, implicit: bool = False) -> Expression:
    """The expression in another type; a constant is cast here and now."""
    if expression.type == target:
        return expression
    if isinstance(expression, Literal):
        return Literal(cast_value(expression.value, expression.type, target), target)
    return Cast(expression, target, implicit)


def coerce(expression: Expression, target: DataType, what: str, at: exp.Expr) -> Expression:
    """The expression as `target` where that needs no written cast; `what` says what asks for it, `at` where."""
    given = expression.type
    if given == target or is_null(expression) or _widens(given, target) or _is_moment(expression, target):
        try:
            return cast(expression, target, implicit=True)
        except EvaluationError as error:
            raise ExpressionError(ExpressionCode.WRONG_CONSTANT, error.message, "", error.hint, offset_of(at)) from None
    fix = f"cast(... as {target})" if castable(given, target) else ""
    raise ExpressionError(ExpressionCode.WRONG_TYPE, f"{what} {target}, not {given}", _TYPED, fix, offset_of(at))


_TYPED = "every expression has one type, known before any append is read"


def unify(expressions: Sequence[Expression], what: str, at: exp.Expr) -> tuple[Expression, ...]:
    """All in the one type where they meet; `what` names the construct that puts them together, `at` is where."""
    typed = [expression for expression in expressions if not is_null(expression)]
    if not typed:
        return tuple(expressions)
    target = _meeting_type(typed)
    if target is None:
        types = " and ".join(dict.fromkeys(str(expression.type) for expression in typed))
        why = "values of these types do not meet in one type"
        raise ExpressionError(ExpressionCode.WRONG_TYPE, f"{what} {types}", why, "cast one of them", offset_of(at))
    return tuple(coerce(expression, target, what, at) for expression in expressions)


def _meeting_type(expressions: Sequence[Expression]) -> DataType | None:
    types = narrowest_types(expressions)
    moments = {type_ for type_ in types if type_ in (TIMESTAMP, DATE)}
    if moments:
        others = {expression.type for expression in expressions if not _is_text(expression)}
        types = list(moments) if others <= moments else types
    met: DataType | None = types[0]
    for type_ in types[1:]:
        met = None if met is None else common_type(met, type_)
    return met


def narrowest_types(expressions: Iterable[Expression]) -> list[DataType]:
    """The types; beside decimals, a whole-number constant counts with the digits that it has."""
    listed = list(expressions)
    exact = any(expression.type.kind is Kind.DECIMAL for expression in listed)
    return [narrow_type(expression) if exact else expression.type for expression in listed]


def narrow_type(expression: Expression) -> DataType:
    if isinstance(expression, Literal) and expression.type == INT64 and isinstance(expression.value, int):
        return decimal(len(str(abs(expression.value))), 0)
    return expression.type


def to_decimal(expression: Expression) -> Expression:
    """An exact number as the decimal that holds every value it may have."""
    return cast(expression, as_decimal(narrow_type(expression)), implicit=True)


def _widens(given: DataType, target: DataType) -> bool:
    return (given.is_exact and (target.kind is Kind.DECIMAL or target == DOUBLE)) or (given, target) == (
        DATE,
        TIMESTAMP,
    )


def _is_text(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.type == STRING


def _is_moment(expression: Expression, target: DataType) -> bool:
    """A text beside an instant or a date is read as one: at >= '2026-01-01T00:00:00Z'."""
    return _is_text(expression) and target in (TIMESTAMP, DATE)


def number(text: str) -> Literal:
    """The constant that a number's text writes: int64, decimal with its own digits, or double with an exponent."""
    if "e" in text.lower():
        return Literal(float(text), DOUBLE)
    value = Decimal(text)
    scale = max(0, -int(value.as_tuple().exponent))
    whole = scale == 0 and "." not in text
    if whole and -(1 << 63) <= int(value) < 1 << 63:
        return Literal(int(value), INT64)
    digits = max(len(value.as_tuple().digits), scale)
    return Literal(value, decimal(digits, scale))
