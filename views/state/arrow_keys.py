"""Group keys of many rows at once: Arrow columns in, the bytes of `views.state.keys` out, and their shards.

This is what the map kernel calls once per view and epoch. A key of fixed-width columns is one numpy matrix; strings
are joined by Arrow. Nothing here loops over rows in Python but the checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.types import DataType, Kind

Bytes2D = npt.NDArray[np.uint8]
T = TypeVar("T", bound=np.generic)

_SIGN64 = np.uint64(1 << 63)
_SIGN32 = np.uint32(1 << 31)


def encode_keys(types: Sequence[DataType], columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> pa.BinaryArray:
    """The full group keys of `rows` rows. Without columns every key is empty: the view has one group."""
    pieces: list[Bytes2D | pa.Array] = []
    for column_type, column in zip(types, columns, strict=True):
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        piece = _strings(flat) if column_type.kind is Kind.STRING else _fixed(column_type, flat)
        if isinstance(piece, np.ndarray) and pieces and isinstance(pieces[-1], np.ndarray):
            pieces[-1] = np.hstack((pieces[-1], piece))
        else:
            pieces.append(piece)
    if not pieces:
        return pa.array([b""] * rows, type=pa.binary())
    arrays = [_binary(piece) if isinstance(piece, np.ndarray) else piece for piece in pieces]
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, b"")


def shards_of(keys: pa.BinaryArray | Sequence[bytes], shards: int) -> npt.NDArray[np.uint32]:
    """`views.state.keys.shard_of`, for many."""
    listed = keys.to_pylist() if isinstance(keys, pa.Array) else keys
    sums = np.fromiter(map(crc32, listed), dtype=np.uint32, count=len(listed))
    return sums % np.uint32(shards)


def _binary(matrix: Bytes2D) -> pa.BinaryArray:
    rows, width = matrix.shape
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    data = np.ascontiguousarray(matrix)
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _strings(column: pa.Array) -> pa.Array:
    body = column.cast(pa.string()).cast(pa.binary())
    data = body.buffers()[2]
    if data is not None and data.size and np.frombuffer(data, dtype=np.uint8).min() < 2:
        body = pc.replace_substring(body, b"\x01", b"\x01\x02")
        body = pc.replace_substring(body, b"\x00", b"\x01\x01")
    joined = pc.binary_join_element_wise(pa.scalar(b"\x01"), body, pa.scalar(b"\x00"), b"")
    return joined.fill_null(b"\x00") if joined.null_count else joined


def _fixed(column_type: DataType, column: pa.Array) -> Bytes2D:
    body = _body(column_type, column)
    rows = len(column)
    matrix = np.empty((rows, body.shape[1] + 1), dtype=np.uint8)
    matrix[:, 0] = 1
    matrix[:, 1:] = body
    if column.null_count:
        matrix[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return matrix


def _body(column_type: DataType, column: pa.Array) -> Bytes2D:
    rows = len(column)
    match column_type.kind:
        case Kind.INT64 | Kind.TIMESTAMP:
            if column_type.kind is Kind.TIMESTAMP and not pa.types.is_integer(column.type):
                column = column.cast(pa.timestamp("us", column.type.tz))
            bits = _raw(column.view(pa.int64()) if column.type != pa.int64() else column, np.uint64)
            return (bits ^ _SIGN64).astype(">u8").view(np.uint8).reshape(rows, 8)
        case Kind.DATE:
            days = _raw(column.cast(pa.date32()), np.uint32)
            return (days ^ _SIGN32).astype(">u4").view(np.uint8).reshape(rows, 4)
        case Kind.BOOL:
            return _raw(column.cast(pa.uint8()), np.uint8).reshape(rows, 1)
        case Kind.DOUBLE:
            numbers = _raw(column.cast(pa.float64()), np.float64) + 0.0
            bits = np.where(np.isnan(numbers), np.float64("nan"), numbers).view(np.uint64)
            flipped = np.where(bits & _SIGN64 != 0, ~bits, bits | _SIGN64)
            return flipped.astype(">u8").view(np.uint8).reshape(rows, 8)
        case Kind.DECIMAL:
            wide = column.cast(pa.decimal128(38, column_type.scale))
            halves = _raw(wide, np.uint64, items=2).reshape(rows, 2)
            swapped = np.stack((halves[:, 1] ^ _SIGN64, halves[:, 0]), axis=1)
            return swapped.astype(">u8").view(np.uint8).reshape(rows, 16)
        case Kind.STRING:
            raise AssertionError("strings are not of fixed width")


def _raw(column: pa.Array, dtype: type[T], items: int = 1) -> npt.NDArray[T]:
    """The values as they lie in memory, nulls included."""
    if len(column) == 0:
        return np.empty(0, dtype=dtype)
    values = np.frombuffer(column.buffers()[1], dtype=dtype)
    return values[column.offset * items : (column.offset + len(column)) * items]
