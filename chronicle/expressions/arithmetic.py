"""Numbers: negation, `+ - * / %`, abs, and the three roundings. Their types are in precision.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from chronicle.expressions.leaves import Literal, require
from chronicle.expressions.precision import product_type, quotient_type, remainder_type, rounded_type, sum_type
from chronicle.types import DataType, Kind

if TYPE_CHECKING:
    from chronicle.expressions.nodes import Expression


class ArithmeticOperator(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


def arithmetic_type(operator: ArithmeticOperator, left: DataType, right: DataType) -> DataType:
    if operator is ArithmeticOperator.DIVIDE and left.is_exact:
        return quotient_type(left, right)
    if left.kind is not Kind.DECIMAL:
        return left
    match operator:
        case ArithmeticOperator.ADD | ArithmeticOperator.SUBTRACT:
            return sum_type(left, right)
        case ArithmeticOperator.MULTIPLY:
            return product_type(left, right)
        case ArithmeticOperator.DIVIDE:
            return quotient_type(left, right)
        case ArithmeticOperator.MODULO:
            return remainder_type(left, right)
    assert_never(operator)


def is_nonzero(expression: Expression) -> bool:
    """Whether this is a constant that is safe to divide by."""
    return isinstance(expression, Literal) and bool(expression.value)


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Expression

    def __post_init__(self) -> None:
        require(self.operand.type.is_numeric, f"- takes a number, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return self.operand.type

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Both operands are int64, or both decimal, or both double. A divisor of zero makes the result null."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    type: DataType = field(init=False, compare=False)

    def __post_init__(self) -> None:
        left, right = self.left.type, self.right.type
        require(left.is_numeric and left.kind is right.kind, f"{self.operator} cannot take {left} and {right}")
        object.__setattr__(self, "type", arithmetic_type(self.operator, left, right))

    @property
    def nullable(self) -> bool:
        divides = self.operator in (ArithmeticOperator.DIVIDE, ArithmeticOperator.MODULO)
        return self.left.nullable or self.right.nullable or (divides and not is_nonzero(self.right))


@dataclass(frozen=True, slots=True)
class Abs:
    operand: Expression

    def __post_init__(self) -> None:
        require(self.operand.type.is_numeric, f"'abs' takes a number, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return self.operand.type

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


class RoundingMode(StrEnum):
    ROUND = "round"
    """Half away from zero."""
    FLOOR = "floor"
    CEIL = "ceil"


@dataclass(frozen=True, slots=True)
class Round:
    """round, floor or ceil. `digits` after the point (negative: before it) is for `round` only."""

    mode: RoundingMode
    operand: Expression
    digits: int = 0

    def __post_init__(self) -> None:
        require(self.operand.type.is_numeric, f"'{self.mode}' takes a number, not {self.operand.type}")
        require(self.mode is RoundingMode.ROUND or self.digits == 0, f"'{self.mode}' takes one argument")

    @property
    def type(self) -> DataType:
        return rounded_type(self.operand.type, self.digits)

    @property
    def nullable(self) -> bool:
        return self.operand.nullable
