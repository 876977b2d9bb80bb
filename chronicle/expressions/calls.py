"""Functions of the language: how many arguments each takes, and of what types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from calendars import CalendarError, Zone
from chronicle.errors import did_you_mean
from chronicle.expressions.arithmetic import Abs, Round, RoundingMode
from chronicle.expressions.coercion import coerce, is_null, unify
from chronicle.expressions.errors import ExpressionCode, ExpressionError
from chronicle.expressions.functions import (
    TRUNCATION_UNITS,
    ChangeCase,
    Concat,
    DateTrunc,
    Extract,
    Length,
    Part,
    Substr,
)
from chronicle.expressions.leaves import Literal
from chronicle.expressions.nodes import Coalesce, Expression, Extreme
from chronicle.expressions.parsing import offset_of
from chronicle.expressions.refusing import name_of
from chronicle.types import DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType

if TYPE_CHECKING:
    from chronicle.expressions.binding import Binder

MAX_DIGITS = 15
"""Of `round`: what a double tells apart, and what keeps a decimal within its 38 digits."""


def _argument(binder: Binder, node: exp.Expr, key: str = "this") -> Expression:
    value = node.args.get(key)
    if not isinstance(value, exp.Expr):
        raise _wrong(node, f"'{name_of(node)}' needs an argument more")
    return binder.bind(value)


def _wrong(node: exp.Expr, what: str, fix: str = "") -> ExpressionError:
    return ExpressionError(ExpressionCode.WRONG_ARGUMENTS, what, "", fix, offset_of(node))


def _takes(node: exp.Expr, *keys: str) -> None:
    """The parser reads arguments that other dialects have; one that is not read here must not be passed over."""
    if any(isinstance(value, exp.Expr) and key not in keys for key, value in node.args.items()):
        most = "one argument" if len(keys) == 1 else f"{len(keys)} arguments at most"
        raise _wrong(node, f"'{name_of(node)}' takes {most}")


def _typed(binder: Binder, node: exp.Expr, key: str, type_: DataType) -> Expression:
    return coerce(_argument(binder, node, key), type_, f"'{name_of(node)}' takes a", node)


def _number(binder: Binder, node: exp.Expr) -> Expression:
    operand = _argument(binder, node)
    if is_null(operand) and not operand.type.is_numeric:
        return Literal(None, INT64)
    if not operand.type.is_numeric:
        what = f"'{name_of(node)}' takes a number, not {operand.type}"
        raise ExpressionError(ExpressionCode.WRONG_TYPE, what, offset=offset_of(node))
    return operand


def _abs(binder: Binder, node: exp.Expr) -> Expression:
    return Abs(_number(binder, node))


def _round(binder: Binder, node: exp.Expr) -> Expression:
    _takes(node, "this", "decimals")
    operand, written = _number(binder, node), node.args.get("decimals")
    digits = 0
    if written is not None:
        constant = binder.bind(written)
        if not isinstance(constant, Literal) or constant.type != INT64 or not isinstance(constant.value, int):
            raise _wrong(written, "the digits of 'round' are a constant whole number")
        digits = constant.value
    least = 0 if operand.type == DOUBLE else -MAX_DIGITS
    if not least <= digits <= MAX_DIGITS:
        raise _wrong(node, f"'round' of a {operand.type} takes {least} to {MAX_DIGITS} digits, not {digits}")
    return Round(RoundingMode.ROUND, operand, digits)


def _floor_or_ceil(binder: Binder, node: exp.Expr) -> Expression:
    mode = RoundingMode.FLOOR if isinstance(node, exp.Floor) else RoundingMode.CEIL
    if node.args.get("decimals") or node.args.get("to"):
        raise _wrong(node, f"'{mode}' takes one argument")
    return Round(mode, _number(binder, node))


def _change_case(binder: Binder, node: exp.Expr) -> Expression:
    return ChangeCase(isinstance(node, exp.Upper), _typed(binder, node, "this", STRING))


def _length(binder: Binder, node: exp.Expr) -> Expression:
    _takes(node, "this")
    return Length(_typed(binder, node, "this", STRING))


def _substr(binder: Binder, node: exp.Expr) -> Expression:
    _takes(node, "this", "start", "length")
    length = _typed(binder, node, "length", INT64) if node.args.get("length") is not None else None
    return Substr(_typed(binder, node, "this", STRING), _typed(binder, node, "start", INT64), length)


def _concat(binder: Binder, node: exp.Expr) -> Expression:
    parts = [(part, binder.bind(part)) for part in node.expressions]
    return Concat(tuple(coerce(bound, STRING, "'concat' takes a", part) for part, bound in parts))


def _several(binder: Binder, node: exp.Expr) -> tuple[Expression, ...]:
    bound = [binder.bind(part) for part in (node.this, *node.expressions)]
    return unify(bound, f"'{name_of(node)}' cannot choose between", node)


def _coalesce(binder: Binder, node: exp.Expr) -> Expression:
    return Coalesce(_several(binder, node))


def _extreme(binder: Binder, node: exp.Expr) -> Expression:
    return Extreme(isinstance(node, exp.Greatest), _several(binder, node))


def _extract(binder: Binder, node: exp.Expr) -> Expression:
    part = _part(node, node.this, tuple(Part))
    operand, zone = _moment(binder, node, node.expression)
    return Extract(part, operand, zone)


def _date_trunc(binder: Binder, node: exp.Expr) -> Expression:
    _takes(node, "unit", "this", "zone")
    unit = _part(node, node.args["unit"], TRUNCATION_UNITS)
    operand, zone = _moment(binder, node, node.this)
    return DateTrunc(unit, operand, zone)


def _part(node: exp.Expr, written: exp.Expr, parts: tuple[Part, ...]) -> Part:
    name = written.name.lower()
    if name not in [part.value for part in parts]:
        raise _wrong(node, f"'{name_of(node)}' has no '{name}'{did_you_mean(name, [part.value for part in parts])}")
    return Part(name)


def _moment(binder: Binder, node: exp.Expr, written: exp.Expr) -> tuple[Expression, str]:
    """What is taken apart, and the zone on whose clock: a third argument, or AT TIME ZONE."""
    zone = node.args.get("zone")
    if isinstance(written, exp.AtTimeZone):
        if zone is not None:
            raise _wrong(node, f"'{name_of(node)}' takes one zone")
        written, zone = written.this, written.args["zone"]
    operand = binder.bind(written)
    if isinstance(operand, Literal) and operand.type not in (TIMESTAMP, DATE):
        operand = coerce(operand, TIMESTAMP, f"'{name_of(node)}' takes a", written)
    return operand, "UTC" if zone is None else _zone(zone, operand.type)


def _zone(node: exp.Expr, type_: DataType) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise _wrong(node, "the zone is a constant text", "an IANA name, like 'America/New_York'")
    if type_ == DATE:
        raise _wrong(node, "a date has no zone")
    try:
        return Zone.named(node.name).name
    except CalendarError as error:
        code = ExpressionCode.WRONG_CONSTANT
        raise ExpressionError(code, error.what, error.why, error.fix, offset_of(node)) from None


CALLS: dict[type[exp.Expr], Callable[[Binder, exp.Expr], Expression]] = {
    exp.Abs: _abs,
    exp.Round: _round,
    exp.Floor: _floor_or_ceil,
    exp.Ceil: _floor_or_ceil,
    exp.Lower: _change_case,
    exp.Upper: _change_case,
    exp.Length: _length,
    exp.Substring: _substr,
    exp.Concat: _concat,
    exp.Coalesce: _coalesce,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Extract: _extract,
    exp.DateTrunc: _date_trunc,
}
