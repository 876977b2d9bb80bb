"""Functions of text (lower, upper, length, substr, concat) and of time (extract, date_trunc)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from chronicle.expressions.leaves import require
from chronicle.types import DATE, INT64, STRING, TIMESTAMP, DataType

if TYPE_CHECKING:
    from chronicle.expressions.nodes import Expression


@dataclass(frozen=True, slots=True)
class ChangeCase:
    """lower or upper, character by character."""

    upper: bool
    operand: Expression

    def __post_init__(self) -> None:
        require(self.operand.type == STRING, f"'lower' and 'upper' take a string, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return STRING

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class Length:
    """The number of code points."""

    operand: Expression

    def __post_init__(self) -> None:
        require(self.operand.type == STRING, f"'length' takes a string, not {self.operand.type}")

    @property
    def type(self) -> DataType:
        return INT64

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class Substr:
    """Counts from 1; a negative start counts from the end. `length` None is up to the end."""

    operand: Expression
    start: Expression
    length: Expression | None = None

    def __post_init__(self) -> None:
        require(self.operand.type == STRING, f"'substr' takes a string, not {self.operand.type}")
        require(self.start.type == INT64, f"the start of 'substr' is an int64, not {self.start.type}")
        require(self.length is None or self.length.type == INT64, "the length of 'substr' is an int64")

    @property
    def type(self) -> DataType:
        return STRING

    @property
    def nullable(self) -> bool:
        return self.operand.nullable or self.start.nullable or (self.length is not None and self.length.nullable)


@dataclass(frozen=True, slots=True)
class Concat:
    """Null where any operand is null."""

    operands: tuple[Expression, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) > 0, "'concat' takes one argument or more")
        require(all(operand.type == STRING for operand in self.operands), "'concat' takes strings")

    @property
    def type(self) -> DataType:
        return STRING

    @property
    def nullable(self) -> bool:
        return any(operand.nullable for operand in self.operands)


class Part(StrEnum):
    """What `extract` takes out of an instant or a date; the coarser ones are also the units of `date_trunc`."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    DOW = "dow"
    ISODOW = "isodow"
    DOY = "doy"
    ISOYEAR = "isoyear"


CALENDAR_UNITS = (Part.YEAR, Part.QUARTER, Part.MONTH, Part.WEEK, Part.DAY)
CLOCK_UNITS = (Part.HOUR, Part.MINUTE, Part.SECOND)
TRUNCATION_UNITS = CALENDAR_UNITS + CLOCK_UNITS


@dataclass(frozen=True, slots=True)
class Extract:
    """One part of an instant on the wall clock of `zone`, or of a date (whose zone is always UTC here)."""

    part: Part
    operand: Expression
    zone: str = "UTC"

    def __post_init__(self) -> None:
        require(self.operand.type in (TIMESTAMP, DATE), f"'extract' cannot take {self.operand.type}")
        if self.operand.type == DATE:
            require(self.zone == "UTC", "a date has no zone")
            require(self.part not in CLOCK_UNITS, f"a date has no {self.part}")

    @property
    def type(self) -> DataType:
        return INT64

    @property
    def nullable(self) -> bool:
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class DateTrunc:
    """The start of the unit that holds an instant, on the wall clock of `zone`; or that holds a date."""

    unit: Part
    operand: Expression
    zone: str = "UTC"

    def __post_init__(self) -> None:
        require(self.operand.type in (TIMESTAMP, DATE), f"'date_trunc' cannot take {self.operand.type}")
        require(self.unit in TRUNCATION_UNITS, f"'date_trunc' has no unit {self.unit}")
        if self.operand.type == DATE:
            require(self.zone == "UTC" and self.unit not in CLOCK_UNITS, "a date has neither a zone nor a time of day")

    @property
    def type(self) -> DataType:
        return self.operand.type

    @property
    def nullable(self) -> bool:
        return self.operand.nullable
