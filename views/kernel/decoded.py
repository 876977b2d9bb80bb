"""What decoding gives the map: the appends of one slot's range as columns, their tuples and changes as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chronicle.arrow import arrow_type
from chronicle.types import Column, Value

AT, PLACE, SINCE, GONE = "@at", "@place", "@since", "@gone"
"""Columns beside a chronicle's or relation's own: the append's place in the range, the tuple's place among its append's
tuples of that chronicle (or changes), and of a change its valid_from in microseconds and whether it is a delete."""

NO_CHRONON = np.iinfo(np.int64).min
"""The chronon of an append that has none: relation changes alone."""

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Decoded:
    """`chronons` has NO_CHRONON where there is none; an append in `malformed` (place -> reason) has nothing in the
    tables. The tables are in no particular order."""

    chronons: Int64s
    malformed: Mapping[int, str]
    tuples: Mapping[str, pa.Table]
    changes: Mapping[str, pa.Table]


def table_of(columns: Sequence[Column], rows: Sequence[Mapping[str, Value]], **beside: pa.Array) -> pa.Table:
    """Rows of Python values as a table of these columns; a name that a row lacks is null."""
    arrays = [pa.array([row.get(c.name) for row in rows], type=arrow_type(c.type)) for c in columns]
    return pa.table([*beside.values(), *arrays], names=[*beside, *(c.name for c in columns)])
