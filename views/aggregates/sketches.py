"""What the three sketches share: values as DuckDB lists them, a blob as state, and b"" for nothing.

Each keeps small sets exactly and answers within a stated error beyond; see docs/aggregates.md for the figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from chronicle.types import DataType, Kind, Value
from views.aggregates.monoid import BLOB, ORDER, Array, Columns, Contribution, Field, Raw, State, aggregated


class Blobs(Protocol):
    """A sketch as a pair of functions on bytes."""

    argument: DataType

    def sketch(self, values: Sequence[Value]) -> bytes: ...

    def union(self, a: bytes, b: bytes) -> bytes: ...


class SketchMonoid:
    """The monoid around a sketch: subclasses say how values become bytes and how two of these become one."""

    __slots__ = ()
    fields: ClassVar = (Field("sketch", BLOB),)
    identity: ClassVar[State] = (b"",)

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        present = f"{arguments[0]} IS NOT NULL" + (f" AND ({where})" if where else "")
        return {"values": aggregated(f"list({arguments[0]})", present)}

    def finish_partial(self: Blobs, raw: Raw) -> Columns:
        return {"sketch": _objects(self.sketch(values) for values in listed(raw["values"], self.argument))}

    def merge(self: Blobs, a: Columns, b: Columns) -> Columns:
        pairs = zip(a["sketch"], b["sketch"], strict=True)
        return {"sketch": _objects(self.union(x, y) if x and y else x or y for x, y in pairs)}

    def prepare(self: Blobs, contributions: Iterable[Contribution]) -> State:
        return (self.sketch([c.value for c in contributions if c.value is not None]),)

    def merge_one(self: Blobs, a: State, b: State) -> State:
        (x,), (y,) = a, b
        if isinstance(x, bytes) and isinstance(y, bytes) and x and y:
            return (self.union(x, y),)
        return (x or y,)


def listed(column: Any, argument: DataType) -> list[list[Value]]:
    """The values of each group, from an Arrow list column; a null list is a group without values."""
    flat = column.flatten()
    if argument.kind is Kind.TIMESTAMP and not str(flat.type).startswith("int"):
        flat = flat.cast("int64")
    values = flat.to_pylist()
    ends = np.cumsum(column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)).tolist()
    return [values[start:end] for start, end in pairwise([0, *ends])]


def _objects(blobs: Iterable[bytes]) -> Array:
    made = list(blobs)
    column = np.empty(len(made), dtype=object)
    column[:] = made
    return column
