"""The order of many short keys, several times as quick as a sort that compares them as bytes: eight bytes of each, from
the first in which some differ, are one number, and only what these leave undecided is compared whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Int64s = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_WORD = 8


def order_of(keys: pa.BinaryArray) -> Int64s:
    """The places of the keys, which has no nulls, in ascending order; equal ones are adjacent in any order."""
    if len(keys) == 0:
        return np.empty(0, np.int64)
    edges = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)[: edges[-1]]
    padded = np.append(data, np.zeros(_WORD, np.uint8))
    windows: npt.NDArray[np.uint64] = np.ndarray((len(padded) - _WORD + 1,), ">u8", padded, strides=(1,))
    begins, lengths = edges[:-1], np.diff(edges)
    longest = int(lengths.max())
    at = 0
    while at < longest:
        words = _words(windows, begins, lengths, at)
        differing = int(np.bitwise_or.reduce(words ^ words[0]))
        if differing:
            break
        at += _WORD
    else:
        return _compared(keys, np.arange(len(keys)), int(lengths.min()) < longest)
    alike = (64 - differing.bit_length()) // 8
    if alike:
        at += alike
        words = _words(windows, begins, lengths, at)
    order = np.argsort(words)
    if at + _WORD >= longest == lengths.min():
        return order
    ordered = words[order]
    tied = np.append(False, ordered[1:] == ordered[:-1])
    tied |= np.append(tied[1:], False)
    order[tied] = _compared(keys, order[tied], bool(tied.any()))
    return order


def _compared(keys: pa.BinaryArray, places: Int64s, needed: bool) -> Int64s:
    if not needed:
        return places
    sorted_places: Int64s = places[pc.sort_indices(keys.take(pa.array(places))).to_numpy()]
    return sorted_places


def _words(windows: Words, begins: Int64s, lengths: Int64s, at: int) -> Words:
    """The bytes [at, at + 8) of each key as a number, zeros where it has ended."""
    words = windows[np.minimum(begins + at, len(windows) - 1)].astype(np.uint64)
    ended = np.flatnonzero(lengths - at < _WORD)
    if len(ended):
        beyond = np.clip(_WORD - (lengths[ended] - at), 0, _WORD) * 8
        kept = np.where(beyond == 64, 0, ~np.uint64(0) << (beyond % 64).astype(np.uint64))
        words[ended] &= kept.astype(np.uint64)
    return words
