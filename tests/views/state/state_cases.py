"""A small group for the tests of state and lookups: one counting view of each kind of period, and a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from chronicle.types import INT64, STRING, Column
from views.aggregates.registry import monoid
from views.state import (
    Outcome,
    PeriodEntry,
    Periods,
    RelationLayout,
    SlotStanding,
    State,
    ViewLayout,
    encode_keys,
    key_encoder,
)

KEYS = (Column("caller", STRING),)
MONOIDS = (("calls", monoid("count", None)), ("seconds", monoid("sum", INT64)))
TOTALS = ViewLayout("totals", KEYS, MONOIDS, Periods.NONE, False, "t1")
MONTHLY = ViewLayout("monthly", KEYS, MONOIDS, Periods.SHARED, False, "m1")
CYCLES = ViewLayout("cycles", KEYS, MONOIDS, Periods.KEYED, False, "c1")
CUSTOMERS = RelationLayout("customers", (Column("number", STRING), Column("plan", STRING, True)), ("number",))
VIEWS = (TOTALS, MONTHLY, CYCLES)

encode = key_encoder([STRING])


def prepare(directory: Path, shards: int = 1, **changes: int) -> State:
    return State.prepare(
        directory, "telecom", VIEWS, [CUSTOMERS], shards=shards, tzdata="2025b", topics={"journal": 1}, **changes
    )


def keys_of(names: Sequence[str]) -> pa.BinaryArray:
    return encode_keys([STRING], [pa.array(names)], len(names))


def columns_of(seconds: Sequence[int]) -> dict[str, np.ndarray]:
    """One call of so many seconds each, as the map kernel would hand it over."""
    states = [[m.prepare([_contribution(s)]) for _, m in MONOIDS] for s in seconds]
    columns: dict[str, np.ndarray] = {}
    for place, (name, each) in enumerate(MONOIDS):
        for index, field in enumerate(each.fields):
            columns[f"{name}.{field.name}"] = np.array([row[place][index] for row in states], dtype=field.dtype)
    return columns


def _contribution(value: int):
    from views.aggregates.monoid import Contribution

    return Contribution(value)


def outcome(offset: int, clock: int | None, fates: Mapping[str, int] | None = None) -> Outcome:
    return Outcome({0: SlotStanding(offset, clock)}, {0: fates or {"applied": 1}})


def values_of(layout: ViewLayout, row: bytes | None) -> tuple[int, ...] | None:
    """What the aggregates show for a stored row."""
    if row is None:
        return None
    fields = dict(zip(layout.row.read_order, layout.row.reader()(row), strict=True))
    return tuple(m.finalise(tuple(fields[f"{name}.{f.name}"] for f in m.fields)) for name, m in layout.monoids)


def month(start: int) -> PeriodEntry:
    return PeriodEntry(start, start + 100, start // 100, f"P{start // 100}")
