"""Conditions: comparison, `and or not`, `is null`, `in`, `like`, with the three-valued logic of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chronicle.expressions.leaves import Literal, require
from chronicle.types import BOOL, STRING, DataType

if TYPE_CHECKING:
    from chronicle.expressions.nodes import Expression


class ComparisonOperator(StrEnum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: ComparisonOperator
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        require(self.left.type == self.right.type, f"cannot compare {self.left.type} with {self.right.type}")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return self.left.nullable or self.right.nullable


@dataclass(frozen=True, slots=True)
class And:
    """True, false or null as in SQL; evaluated from the left until an operand is false."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) >= 2, "'and' takes two conditions or more")
        require(all(operand.type == BOOL for operand in self.operands), "'and' takes conditions")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return any(operand.nullable for operand in self.operands)


@dataclass(frozen=True, slots=True)
class Or:
    """True, false or null as in SQL; evaluated from the left until an operand is true."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) >= 2, "'or' takes two conditions or more")
        require(all(operand.type == BOOL for operand in self.operands), "'or' takes conditions")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return any(operand.nullable for operand in self.operands)


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression

    def __post_init__(self) -> None:
        require(self.operand.type == BOOL, f"'not' takes a condition, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Expression

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class In:
    """Membership in a list of constants; a list with other expressions is an `Or` of comparisons."""

    operand: Expression
    items: tuple[Literal, ...]

    def __post_init__(self) -> None:
        require(len(self.items) > 0, "'in' takes one item or more")
        require(all(item.type == self.operand.type for item in self.items), "the items of 'in' have one type")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return self.operand.nullable or any(item.nullable for item in self.items)


@dataclass(frozen=True, slots=True)
class Like:
    """`%` is any text, `_` one character; after `escape` (one character, or none at all) they stand for themselves."""

    operand: Expression
    pattern: str
    escape: str | None = None

    def __post_init__(self) -> None:
        require(self.operand.type == STRING, f"'like' takes a string, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return BOOL

    @property
    def nullable(self) -> bool:
        return self.operand.nullable
