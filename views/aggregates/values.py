"""How one value of the contract's types lies in the fields of a state: fixed-width columns, or a blob for strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Any, cast

import numpy as np

from chronicle.types import DataType, Kind, Value
from views.aggregates.monoid import BLOB, Array, Field, Scalar
from views.aggregates.wide import NARROW_DIGITS, join, less, limb_fields, limbs_of_decimal128, split

_EPOCH = date(1970, 1, 1)
_EXACT = Context(prec=80)
_DTYPES = {
    Kind.INT64: "<i8",
    Kind.TIMESTAMP: "<i8",
    Kind.DATE: "<i4",
    Kind.DOUBLE: "<f8",
    Kind.BOOL: "|u1",
    Kind.STRING: BLOB,
}


def unscaled(value: Decimal, scale: int) -> int:
    """The integer n with value = n / 10^scale; exact, because the value has the type's scale."""
    return int(value.scaleb(scale, _EXACT))


def scaled(number: int, scale: int) -> Decimal:
    return Decimal(number).scaleb(-scale, _EXACT)


@dataclass(frozen=True, slots=True)
class ValueLayout:
    """The fields of one value, and the ways in and out of them. Absent values have a flag elsewhere, and zeros here."""

    type: DataType

    @property
    def is_wide(self) -> bool:
        return self.type.kind is Kind.DECIMAL and self.type.precision > NARROW_DIGITS

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.is_wide:
            return limb_fields("value", 2)
        return (Field("value", "<i8" if self.type.kind is Kind.DECIMAL else _DTYPES[self.type.kind]),)

    @property
    def nothing(self) -> tuple[Scalar, ...]:
        return tuple(b"" if field.dtype == BLOB else 0.0 if field.dtype == "<f8" else 0 for field in self.fields)

    def encode(self, value: Value) -> tuple[Scalar, ...]:
        match value:
            case str():
                return (value.encode(),)
            case Decimal():
                number = unscaled(value, self.type.scale)
                return split(number, 2) if self.is_wide else (number,)
            case date():
                return ((value - _EPOCH).days,)
            case bool():
                return (int(value),)
            case int() | float():
                return (value,)
            case None:
                raise ValueError("null has no layout")

    def decode(self, scalars: Sequence[Scalar]) -> Value:
        match self.type.kind:
            case Kind.INT64 | Kind.TIMESTAMP | Kind.DOUBLE:
                return cast("int | float", scalars[0])
            case Kind.STRING:
                return cast("bytes", scalars[0]).decode()
            case Kind.DECIMAL:
                return scaled(join(cast("Sequence[int]", scalars)), self.type.scale)
            case Kind.DATE:
                return _EPOCH + timedelta(days=cast("int", scalars[0]))
            case Kind.BOOL:
                return bool(scalars[0])

    def from_arrow(self, column: Any) -> tuple[Array, ...]:
        """The fields of an Arrow column of this type; null is zeros."""
        match self.type.kind:
            case Kind.STRING:
                return (_blobs(column),)
            case Kind.DECIMAL:
                require_scale(column, self.type.scale)
                high, low = limbs_of_decimal128(column)
                return (high, low) if self.is_wide else (low.view(np.int64),)
            case _:
                return (fixed(column, self.fields[0].dtype),)

    def less(self, a: Sequence[Array], b: Sequence[Array]) -> Array:
        """a < b row by row: strings by code point (UTF-8 bytes sort so), NaN above every number."""
        if self.type.kind is Kind.DOUBLE:
            return np.asarray((a[0] < b[0]) | (~np.isnan(a[0]) & np.isnan(b[0])))
        if self.type.kind is Kind.STRING:
            return np.asarray(a[0] < b[0], dtype=np.bool_)
        return less(a, b)


def require_scale(column: Any, scale: int) -> None:
    if column.type.scale != scale:
        raise ValueError(f"a partial has scale {column.type.scale} where the aggregate has {scale}")


def fixed(column: Any, dtype: str) -> Array:
    """A fixed-width Arrow column (integers, doubles, bools, instants, dates) as numpy; null is zero."""
    kind = str(column.type)
    if kind.startswith("timestamp"):
        column = column.cast("int64")
    elif kind.startswith("date32"):
        column = column.cast("int32")
    filled = column.fill_null(False if kind == "bool" else 0) if column.null_count else column
    values: Array = filled.to_numpy(zero_copy_only=False)
    return values.astype(dtype, copy=False)


def _blobs(column: Any) -> Array:
    filled = column.cast("binary").fill_null(b"")
    values = np.empty(len(filled), dtype=object)
    values[:] = filled.to_pylist()
    return values
