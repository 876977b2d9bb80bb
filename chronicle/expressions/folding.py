"""Simplification while binding: what is constant is computed once, and an operand that cannot matter is dropped.

The engines would drop such operands each in their own way, and with them the errors they might raise; doing it here
makes all of them see the same tree.
"""

from __future__ import annotations

from sqlglot import exp

from chronicle.expressions.arithmetic import Abs, Arithmetic, Negate, Round
from chronicle.expressions.conditions import And, Comparison, In, IsNull, Like, Not, Or
from chronicle.expressions.errors import EvaluationError, ExpressionCode, ExpressionError
from chronicle.expressions.evaluator import evaluator
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Substr
from chronicle.expressions.leaves import Literal
from chronicle.expressions.nodes import Case, Cast, Coalesce, Expression, children
from chronicle.expressions.parsing import offset_of
from chronicle.types import BOOL


def fold(expression: Expression, at: exp.Expr) -> Expression:
    """The same meaning in its simplest form, given that the operands are folded; `at` is where it is written."""
    operands = children(expression)
    if operands and all(isinstance(operand, Literal) for operand in operands):
        return _computed(expression, at)
    match expression:
        case And() | Or():
            return _junction(expression)
        case Coalesce():
            return _coalesce(expression)
        case Case():
            return _case(expression)
        case IsNull(operand) if not operand.nullable:
            return Literal(False, BOOL)
        case (
            Arithmetic()
            | Comparison()
            | Negate()
            | Abs()
            | Round()
            | Not()
            | In()
            | Like()
            | Cast()
            | ChangeCase()
            | Length()
            | Substr()
            | Concat()
            | Extract()
            | DateTrunc()
        ) if any(isinstance(operand, Literal) and operand.value is None for operand in operands):
            return Literal(None, expression.type)
        case _:
            return expression


def _computed(expression: Expression, at: exp.Expr) -> Literal:
    try:
        return Literal(evaluator(expression)({}), expression.type)
    except EvaluationError as error:
        why = "this has the same value for every row, and that value cannot be computed"
        raise ExpressionError(ExpressionCode.CONSTANT_FAILS, error.message, why, error.hint, offset_of(at)) from None


def _junction(expression: And | Or) -> Expression:
    """`and` with a false is false; a true adds nothing to it. The other way round for `or`."""
    decides = isinstance(expression, Or)
    constants = {operand.value for operand in expression.operands if isinstance(operand, Literal)}
    if decides in constants:
        return Literal(decides, BOOL)
    kept = tuple(operand for operand in expression.operands if operand != Literal(not decides, BOOL))
    if len(kept) == 1:
        return kept[0]
    return Or(kept) if decides else And(kept)


def _coalesce(expression: Coalesce) -> Expression:
    """Nulls are never the answer, and what follows an operand that is never null is never asked."""
    kept: list[Expression] = []
    for operand in expression.operands:
        if isinstance(operand, Literal) and operand.value is None:
            continue
        kept.append(operand)
        if not operand.nullable:
            break
    if not kept:
        return Literal(None, expression.type)
    return kept[0] if len(kept) == 1 else Coalesce(tuple(kept))


def _case(expression: Case) -> Expression:
    """A branch whose condition is never true goes; one that is always true ends the case."""
    kept: list[tuple[Expression, Expression]] = []
    for condition, value in expression.branches:
        if not isinstance(condition, Literal):
            kept.append((condition, value))
        elif condition.value:
            return Case(tuple(kept), value) if kept else value
    return Case(tuple(kept), expression.otherwise) if kept else expression.otherwise
