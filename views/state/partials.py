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
    order = pc.sort_indices(stored).to_numpy().astype(np.int64)
    listed: list[bytes] = stored.take(pa.array(order)).to_pylist()
    picked = {name: values[order] for name, values in columns.items()}
    unique, merged = _one_per_key(layout, listed, picked)
    kept = order if unique is None else order[unique]
    tails = {place: long[row] for place, row in enumerate(kept.tolist()) if row in long} if long else {}
    final = listed if unique is None else [listed[i] for i in unique.tolist()]
    return Partials(final, kept, merged, tails)


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
    layout: ViewLayout, keys: list[bytes], columns: Columns
) -> tuple[npt.NDArray[np.int64] | None, Columns]:
    """Merges the partials of equal (adjacent) keys pair by pair; the places that remain, None if all do."""
    if len(set(keys)) == len(keys):
        return None, columns
    fresh = np.fromiter((a != b for a, b in zip(keys[1:], keys, strict=False)), dtype=np.bool_, count=len(keys) - 1)
    group = np.concatenate(([0], np.cumsum(fresh)))
    places = np.arange(len(keys))
    while True:
        same = group[1:] == group[:-1]
        if not same.any():
            return places, columns
        firsts = np.flatnonzero(np.concatenate(([True], ~same)))
        runs = np.diff(np.concatenate((firsts, [len(group)])))
        rank = np.arange(len(group)) - np.repeat(firsts, runs)
        even = np.flatnonzero(rank % 2 == 0)
        paired = np.isin(even + 1, np.flatnonzero(rank % 2 == 1))
        left = even[paired]
        merged = layout.merge({n: c[left] for n, c in columns.items()}, {n: c[left + 1] for n, c in columns.items()})
        columns = {name: values[even] for name, values in columns.items()}
        for name, values in merged.items():
            columns[name][paired] = values
        group, places = group[even], places[even]
