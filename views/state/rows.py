"""What a stored row looks like: fixed-width fields, packed and little endian, then the blobs (sketches, strings).

The lengths of the blobs stand among the fixed fields, so that unpacking many rows is one `numpy.frombuffer`. What
follows the last blob is the tail: the full group key of a row whose stored key was shortened (see `keys.shorten`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from views.aggregates.monoid import BLOB

Columns = dict[str, npt.NDArray[Any]]
"""Field name -> one value per row; blobs are object arrays of bytes."""


_LENGTH = np.dtype("<u4")


@dataclass(frozen=True, slots=True)
class RowLayout:
    """`fields` are names with their numpy dtype, or BLOB."""

    fields: tuple[tuple[str, str], ...]
    dtype: np.dtype[Any] = field(init=False, repr=False, compare=False)
    blobs: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fixed = [(name, kind) for name, kind in self.fields if kind != BLOB]
        blobs = tuple(name for name, kind in self.fields if kind == BLOB)
        object.__setattr__(self, "dtype", np.dtype([*fixed, *((f"#{name}", _LENGTH) for name in blobs)]))
        object.__setattr__(self, "blobs", blobs)

    def pack(self, columns: Mapping[str, npt.NDArray[Any]], rows: int) -> list[bytes]:
        """One value per row."""
        if not self.fields:
            return [b""] * rows
        packed = np.empty(rows, dtype=self.dtype)
        for name, kind in self.fields:
            if kind == BLOB:
                packed[f"#{name}"] = np.fromiter(map(len, columns[name]), dtype=_LENGTH, count=rows)
            else:
                packed[name] = columns[name]
        fixed: list[bytes] = packed.view(f"V{self.dtype.itemsize}").tolist()
        if not self.blobs:
            return fixed
        if len(self.blobs) == 1:
            return [a + b for a, b in zip(fixed, columns[self.blobs[0]], strict=True)]
        return [b"".join(parts) for parts in zip(fixed, *(columns[name] for name in self.blobs), strict=True)]

    def unpack(self, values: Sequence[bytes]) -> Columns:
        """The columns of many rows; tails are ignored. Arrays are read-only."""
        width = self.dtype.itemsize
        if not self.fields:
            return {}
        joined = b"".join(values)
        if len(joined) != width * len(values):
            joined = b"".join([value[:width] for value in values])
        packed = np.frombuffer(joined, dtype=self.dtype)
        columns: Columns = {name: packed[name] for name, kind in self.fields if kind != BLOB}
        start = np.full(len(values), width, dtype=np.int64)
        for name in self.blobs:
            end = start + packed[f"#{name}"]
            blobs = np.empty(len(values), dtype=object)
            slices = zip(values, start.tolist(), end.tolist(), strict=True)
            blobs[:] = [value[a:b] for value, a, b in slices]
            columns[name] = blobs
            start = end
        return columns

    def tail(self, value: bytes) -> bytes:
        """What follows the last blob of one row."""
        end = self.dtype.itemsize
        for name in self.blobs:
            dtype, offset = self.dtype.fields[f"#{name}"][:2]  # type: ignore[index]  # a structured dtype has fields
            end += int(np.frombuffer(value, dtype=dtype, count=1, offset=offset)[0])
        return value[end:]

    def reader(self) -> Callable[[bytes], tuple[Any, ...]]:
        """A compiled reader of one row: its fields as Python scalars and bytes, fixed ones first, then the blobs."""
        names = self.dtype.names or ()
        unpack = struct.Struct("<" + "".join(_format(self.dtype[name]) for name in names)).unpack_from
        if not self.blobs:
            return unpack
        fixed, width = len(names) - len(self.blobs), self.dtype.itemsize

        def read(value: bytes) -> tuple[Any, ...]:
            head = unpack(value)
            at = width
            parts = list(head[:fixed])
            for length in head[fixed:]:
                parts.append(value[at : at + length])
                at += length
            return tuple(parts)

        return read

    @property
    def read_order(self) -> tuple[str, ...]:
        """The fields in the order in which `reader` gives them."""
        fixed = tuple(name for name, kind in self.fields if kind != BLOB)
        return fixed + self.blobs


def _format(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "SV":
        return f"{dtype.itemsize}s"
    codes = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
    codes |= {"f4": "f", "f8": "d", "b1": "?"}
    return codes[f"{dtype.kind}{dtype.itemsize}"]
