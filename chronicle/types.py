"""The types of the contract, and what a value of each is in Python and in Arrow.

| type          | Python value                    | Arrow                    |
|---------------|---------------------------------|--------------------------|
| string        | str                             | string                   |
| int64         | int                             | int64                    |
| double        | float                           | float64                  |
| bool          | bool                            | bool                     |
| timestamp     | int, microseconds since 1970 Z  | timestamp[us, tz=UTC]    |
| date          | datetime.date                   | date32                   |
| decimal(p,s)  | decimal.Decimal                 | decimal128(p, s)         |

Null is None everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

MAX_PRECISION = 38
"""The widest decimal: what 128 bits hold, and where Arrow, DuckDB and Spark end."""

Value = str | int | float | bool | date | Decimal | None


class Kind(StrEnum):
    STRING = "string"
    INT64 = "int64"
    DOUBLE = "double"
    BOOL = "bool"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DECIMAL = "decimal"


@dataclass(frozen=True, slots=True)
class DataType:
    kind: Kind
    precision: int = 0
    scale: int = 0

    def __post_init__(self) -> None:
        if self.kind is Kind.DECIMAL:
            if not 1 <= self.precision <= MAX_PRECISION:
                raise ValueError(f"a decimal has 1 to {MAX_PRECISION} digits, not {self.precision}")
            if not 0 <= self.scale <= self.precision:
                raise ValueError(
                    f"the scale of a decimal({self.precision}, s) is 0 to {self.precision}, not {self.scale}"
                )

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind is Kind.DECIMAL else self.kind.value

    @property
    def is_exact(self) -> bool:
        return self.kind in (Kind.INT64, Kind.DECIMAL)

    @property
    def is_numeric(self) -> bool:
        return self.is_exact or self.kind is Kind.DOUBLE


STRING = DataType(Kind.STRING)
INT64 = DataType(Kind.INT64)
DOUBLE = DataType(Kind.DOUBLE)
BOOL = DataType(Kind.BOOL)
TIMESTAMP = DataType(Kind.TIMESTAMP)
DATE = DataType(Kind.DATE)


def decimal(precision: int, scale: int) -> DataType:
    return DataType(Kind.DECIMAL, precision, scale)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: DataType
    nullable: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.type}{'?' if self.nullable else ''}"


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order, their names distinct."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"a schema names each column once; twice here: {', '.join(twice)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


_SIMPLE = {kind.value: DataType(kind) for kind in Kind if kind is not Kind.DECIMAL}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")


def parse_type(text: str) -> tuple[DataType, bool]:
    """The type that `text` names, and whether a `?` makes it nullable; ValueError says what is wrong."""
    written = text.strip()
    nullable = written.endswith("?")
    name = written.removesuffix("?").strip()
    if name in _SIMPLE:
        return _SIMPLE[name], nullable
    if match := _DECIMAL.fullmatch(name):
        return decimal(int(match[1]), int(match[2])), nullable
    raise ValueError(
        f"unknown type '{text}'; one of {', '.join(_SIMPLE)}, decimal(p,s), each with ? where it may be null"
    )
