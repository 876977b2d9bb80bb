"""Expressions as the text of the contract: what `explain` shows, after constants are computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from calendars import format_instant
from chronicle.expressions.arithmetic import Abs, Arithmetic, ArithmeticOperator, Negate, Round
from chronicle.expressions.conditions import And, Comparison, In, IsNull, Like, Not, Or
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Substr
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Case, Cast, Coalesce, Expression, Extreme
from chronicle.types import Kind

_OR, _AND, _NOT, _COMPARES, _ADDS, _MULTIPLIES, _ATOM = range(7)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def render(expression: Expression) -> str:
    return _rendered(expression)[0]


def _inside(expression: Expression, least: int) -> str:
    """An operand, in parentheses where it binds weaker than its surroundings."""
    text, strength = _rendered(expression)
    return text if strength >= least else f"({text})"


def _rendered(expression: Expression) -> tuple[str, int]:
    match expression:
        case Literal():
            return _literal(expression)
        case ColumnRef(name):
            return (name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'), _ATOM
        case Negate(operand):
            return f"-{_inside(operand, _ATOM)}", _MULTIPLIES
        case Arithmetic(operator, left, right):
            adds = operator in (ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT)
            strength = _ADDS if adds else _MULTIPLIES
            return f"{_inside(left, strength)} {operator} {_inside(right, strength + 1)}", strength
        case Comparison(operator, left, right):
            return f"{_inside(left, _ADDS)} {operator} {_inside(right, _ADDS)}", _COMPARES
        case And(operands):
            return " and ".join(_inside(operand, _NOT) for operand in operands), _AND
        case Or(operands):
            return " or ".join(_inside(operand, _AND) for operand in operands), _OR
        case Not(IsNull(operand)):
            return f"{_inside(operand, _ADDS)} is not null", _COMPARES
        case Not(operand):
            return f"not {_inside(operand, _COMPARES)}", _NOT
        case IsNull(operand):
            return f"{_inside(operand, _ADDS)} is null", _COMPARES
        case In(operand, items):
            return f"{_inside(operand, _ADDS)} in ({_list(items)})", _COMPARES
        case Like(operand, pattern, escape):
            ending = "" if escape is None else f" escape {_text(escape)}"
            return f"{_inside(operand, _ADDS)} like {_text(pattern)}{ending}", _COMPARES
        case Cast(operand, _, implicit=True):
            return _rendered(operand)
        case _:
            return _function(expression), _ATOM


def _function(
    expression: Abs
    | Round
    | Case
    | Cast
    | Coalesce
    | Extreme
    | ChangeCase
    | Length
    | Substr
    | Concat
    | Extract
    | DateTrunc,
) -> str:
    match expression:
        case Abs(operand):
            return f"abs({render(operand)})"
        case Round(mode, operand, digits):
            return f"{mode}({render(operand)}{f', {digits}' if digits else ''})"
        case Case(branches, otherwise):
            whens = " ".join(f"when {render(when)} then {render(then)}" for when, then in branches)
            default = "" if otherwise == Literal(None, otherwise.type) else f" else {render(otherwise)}"
            return f"case {whens}{default} end"
        case Cast(operand, target):
            return f"cast({render(operand)} as {target})"
        case Coalesce(operands):
            return f"coalesce({_list(operands)})"
        case Extreme(greatest, operands):
            return f"{'greatest' if greatest else 'least'}({_list(operands)})"
        case ChangeCase(upper, operand):
            return f"{'upper' if upper else 'lower'}({render(operand)})"
        case Length(operand):
            return f"length({render(operand)})"
        case Substr(operand, start, length):
            return f"substr({_list((operand, start) if length is None else (operand, start, length))})"
        case Concat(operands):
            return f"concat({_list(operands)})"
        case Extract(part, operand, zone):
            clock = "" if zone == "UTC" else f" at time zone {_text(zone)}"
            return f"extract({part} from {render(operand)}{clock})"
        case DateTrunc(unit, operand, zone):
            clock = "" if zone == "UTC" else f", {_text(zone)}"
            return f"date_trunc('{unit}', {render(operand)}{clock})"
    assert_never(expression)


def _list(operands: Sequence[Expression]) -> str:
    return ", ".join(render(operand) for operand in operands)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(literal: Literal) -> tuple[str, int]:
    value, kind = literal.value, literal.type.kind
    if value is None:
        return "null", _ATOM
    match kind:
        case Kind.STRING:
            return _text(str(value)), _ATOM
        case Kind.BOOL:
            return str(value).lower(), _ATOM
        case Kind.TIMESTAMP:
            return f"timestamp '{format_instant(int(str(value)))}'", _ATOM
        case Kind.DATE:
            return f"date '{value}'", _ATOM
        case Kind.DOUBLE:
            text = repr(value) if "e" in repr(value) else f"{value!r}e0"
        case _:
            text = f"{value:f}" if kind is Kind.DECIMAL else str(value)
    return text, _MULTIPLIES if text.startswith("-") else _ATOM
