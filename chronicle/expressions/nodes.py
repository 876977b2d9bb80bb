"""The typed expressions of the contract: one small frozen class per construct, its type derived when it is built.

A node holds operands of the types that its evaluators expect (the binder casts them there), so each evaluator is one
`match` without type rules of its own. `type` and `nullable` are derived, integrity is checked in the constructor.
What each construct means is written in docs/expressions.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from chronicle.expressions.arithmetic import Abs, Arithmetic, Negate, Round
from chronicle.expressions.conditions import And, Comparison, In, IsNull, Like, Not, Or
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Substr
from chronicle.expressions.leaves import ColumnRef, Literal, require
from chronicle.types import BOOL, DataType


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true; the other branches are not evaluated."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    def __post_init__(self) -> None:
        require(len(self.branches) > 0, "'case' has one branch or more")
        require(all(condition.type == BOOL for condition, _ in self.branches), "'when' takes a condition")
        require(all(value.type == self.type for _, value in self.branches), "the branches of 'case' have one type")

    @property
    def type(self) -> DataType:
        return self.otherwise.type

    @property
    def nullable(self) -> bool:
        return self.otherwise.nullable or any(value.nullable for _, value in self.branches)


@dataclass(frozen=True, slots=True)
class Cast:
    """`implicit` where the binder brought an operand to the type that its neighbour has; it is not rendered."""

    operand: Expression
    type: DataType
    implicit: bool = field(default=False, compare=False)

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first operand that is not null; those after it are not evaluated."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) > 0, "'coalesce' takes one argument or more")
        require(all(operand.type == self.type for operand in self.operands), "'coalesce' takes one type")

    @property
    def type(self) -> DataType:
        return self.operands[0].type

    @property
    def nullable(self) -> bool:
        return all(operand.nullable for operand in self.operands)


@dataclass(frozen=True, slots=True)
class Extreme:
    """greatest or least of those operands that are not null."""

    greatest: bool
    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) > 0, "'greatest' and 'least' take one argument or more")
        require(all(operand.type == self.type for operand in self.operands), "'greatest' and 'least' take one type")

    @property
    def type(self) -> DataType:
        return self.operands[0].type

    @property
    def nullable(self) -> bool:
        return all(operand.nullable for operand in self.operands)


Expression = (
    Literal
    | ColumnRef
    | Negate
    | Arithmetic
    | Abs
    | Round
    | Comparison
    | And
    | Or
    | Not
    | IsNull
    | In
    | Like
    | Case
    | Cast
    | Coalesce
    | Extreme
    | ChangeCase
    | Length
    | Substr
    | Concat
    | Extract
    | DateTrunc
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The operands, in the order in which they are written."""
    match expression:
        case Literal() | ColumnRef():
            return ()
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case And(operands) | Or(operands) | Coalesce(operands) | Concat(operands) | Extreme(operands=operands):
            return operands
        case Case(branches, otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case Substr(operand, start, length):
            return (operand, start) if length is None else (operand, start, length)
        case (
            Negate()
            | Abs()
            | Round()
            | Not()
            | IsNull()
            | In()
            | Like()
            | Cast()
            | ChangeCase()
            | Length()
            | Extract()
            | DateTrunc()
        ):
            return (expression.operand,)
    assert_never(expression)


def map_children(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same construct over changed operands; its type and nullability are derived anew."""
    match expression:
        case Literal() | ColumnRef():
            return expression
        case Arithmetic(operator, left, right):
            return Arithmetic(operator, change(left), change(right))
        case Comparison(operator, left, right):
            return Comparison(operator, change(left), change(right))
        case And() | Or() | Coalesce() | Concat() | Extreme():
            return replace(expression, operands=tuple(change(operand) for operand in expression.operands))
        case Case(branches, otherwise):
            changed = tuple((change(condition), change(value)) for condition, value in branches)
            return Case(changed, change(otherwise))
        case Substr(operand, start, length):
            return Substr(change(operand), change(start), None if length is None else change(length))
        case (
            Negate()
            | Abs()
            | Round()
            | Not()
            | IsNull()
            | In()
            | Like()
            | Cast()
            | ChangeCase()
            | Length()
            | Extract()
            | DateTrunc()
        ):
            return replace(expression, operand=change(expression.operand))
    assert_never(expression)
