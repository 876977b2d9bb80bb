"""What an expression is made from: constants and columns."""

from __future__ import annotations

from dataclasses import dataclass

from chronicle.types import DataType, Value


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is the null of its type."""

    value: Value
    type: DataType

    @property
    def nullable(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class ColumnRef:
    name: str
    type: DataType
    nullable: bool = False
