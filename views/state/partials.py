"""Partials on their way into a shard: sorted by stored key, one per key, and merged with the rows that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from views.state.keys import SHORT_KEY, shorten
from views.state.layout import ViewLayout
from views.state.rows import Columns
from views.state.sorting import order_of

_SIGN64 = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Partials:
    """`rows` are the places of what was given, in the order of the stored keys: the first of each. `tails` holds the
    full group keys of the rows whose key was shortened, by position."""

    keys: list[bytes]
    rows: npt.NDArray[np.int64]
    columns: Columns
    tails: Mapping[int, bytes]


def sorted_partials(
    layout: ViewLayout,
    views: npt.NDArray[np.uint16],
    keys: pa.BinaryArray,
    starts: npt.NDArray[np.int64],
    columns: Mapping[str, npt.NDArray[Any]],
) -> Partials:
    """Group keys and their state columns, in any order and with repeats, made ready for the fold; `views` are ids."""
    long = _long_keys(keys)
    stored = _prefixed(views, starts, _shortened(keys, long) if long else keys)
    rows = order_of(stored)
    ordered = stored.take(pa.array(rows))
    picked = {name: values[rows] for name, values in columns.items()}
    fresh = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    if not fresh.all():
        unique, picked = _one_per_key(layout, fresh, picked)
        ordered, rows = ordered.take(pa.array(unique)), rows[unique]
    tails = {place: long[row] for place, row in enumerate(rows.tolist()) if row in long} if long else {}
    return Partials(ordered.to_pylist(), rows, picked, tails)


def _long_keys(keys: pa.BinaryArray) -> dict[int, bytes]:
    lengths = pc.binary_length(keys)
    if len(keys) == 0 or pc.max(lengths).as_py() < SHORT_KEY:
        return {}
    rows = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) >= SHORT_KEY)
    return {row: keys[row].as_py() for row in rows.tolist()}


def _shortened(keys: pa.BinaryArray, long: Mapping[int, bytes]) -> pa.BinaryArray:
    listed = keys.to_pylist()
    for row, key in long.items():
        listed[row] = shorten(key)
    return pa.array(listed, type=pa.binary())


def _prefixed(views: npt.NDArray[np.uint16], starts: npt.NDArray[np.int64], keys: pa.BinaryArray) -> pa.BinaryArray:
    """`keys.row_prefix` before each key."""
    rows = len(starts)
    prefix = np.empty((rows, 10), dtype=np.uint8)
    prefix[:, :2] = views.astype(">u2").view(np.uint8).reshape(rows, 2)
    prefix[:, 2:] = (starts.view(np.uint64) ^ _SIGN64).astype(">u8").view(np.uint8).reshape(rows, 8)
    offsets = np.arange(0, 10 * (rows + 1), 10, dtype=np.int32)
    column = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(prefix)])
    return pc.binary_join_element_wise(column, keys, b"")


def _one_per_key(
    layout: ViewLayout, fresh: npt.NDArray[np.bool_], columns: Columns
) -> tuple[npt.NDArray[np.int64], Columns]:
    """Merges the partials of equal keys, which are adjacent, pair by pair; `fresh` says which are another than the one
    before. The places that remain, the first of each key."""
    group = np.concatenate(([0], np.cumsum(fresh)))
    places = np.arange(len(group))
    while True:
        same = np.concatenate(([False], group[1:] == group[:-1]))
        if not same.any():
            return places, columns
        firsts = np.flatnonzero(~same)
        runs = np.diff(np.append(firsts, len(group)))
        second = (np.arange(len(group)) - np.repeat(firsts, runs)) % 2 == 1
        even, right = np.flatnonzero(~second), np.flatnonzero(second)
        merged = layout.merge(
            {name: values[right - 1] for name, values in columns.items()},
            {name: values[right] for name, values in columns.items()},
        )
        paired = np.append(second, False)[even + 1]
        columns = {name: values[even] for name, values in columns.items()}
        for name, values in merged.items():
            columns[name][paired] = values
        group, places = group[even], places[even]
