"""Exact integers wider than 64 bits as columns: two's complement in limbs of 64 bits, the highest one signed.

Sums of int64 and of decimals up to 18 digits take two limbs (2^63 addends of 2^63 each fit); wider decimals take three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from views.aggregates.monoid import Array, Field

NARROW_DIGITS = 18
"""Decimals up to here fit into an int64 as their unscaled value."""

_LIMB = 64
_MASK = (1 << _LIMB) - 1


def limb_fields(name: str, limbs: int) -> tuple[Field, ...]:
    """The highest limb first: `name.2` (signed), `name.1`, `name.0`."""
    return tuple(Field(f"{name}.{i}", "<i8" if i == limbs - 1 else "<u8") for i in reversed(range(limbs)))


def join(limbs: Sequence[int]) -> int:
    """The integer, from its limbs, highest first."""
    value = limbs[0]
    for limb in limbs[1:]:
        value = (value << _LIMB) | limb
    return value


def split(value: int, limbs: int) -> tuple[int, ...]:
    """The limbs of an integer, highest first and signed; the inverse of `join`."""
    low = tuple((value >> (_LIMB * i)) & _MASK for i in reversed(range(limbs - 1)))
    return (value >> (_LIMB * (limbs - 1)), *low)


def add(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Limb by limb from the lowest with the carry; all limbs highest first."""
    total: list[Array] = []
    carry: Array = np.zeros(len(a[-1]), dtype=np.uint64)
    for left, right in zip(reversed(a[1:]), reversed(b[1:]), strict=True):
        partly = left + right
        limb = partly + carry
        carry = ((partly < left) | (limb < partly)).astype(np.uint64)
        total.append(limb)
    total.append(a[0] + b[0] + carry.astype(np.int64))
    return total[::-1]


def less(a: Sequence[Array], b: Sequence[Array]) -> Array:
    """a < b, row by row, over limbs that are highest first."""
    result: Array = np.zeros(len(a[-1]), dtype=np.bool_)
    for left, right in zip(reversed(a), reversed(b), strict=True):
        result = (left < right) | ((left == right) & result)
    return result


def limbs_of_decimal128(column: Any) -> tuple[Array, Array]:
    """(high, low) of an Arrow decimal128 column's unscaled values; null is 0.

    Arrow's decimal128 is 16 bytes, little endian, two's complement; DuckDB hands HUGEINT over as decimal128(38, 0).
    """
    data = column.buffers()[1]
    if len(column) == 0 or data is None:
        return np.zeros(len(column), np.int64), np.zeros(len(column), np.uint64)
    words = np.frombuffer(data, dtype="<u8")[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = words[0::2].copy(), words[1::2].astype(np.int64)
    if column.null_count:
        empty = ~validity(column)
        low[empty], high[empty] = 0, 0
    return high, low


def validity(column: Any) -> Array:
    """Which rows of an Arrow column are not null."""
    valid: Array = column.is_valid().to_numpy(zero_copy_only=False)
    return valid
