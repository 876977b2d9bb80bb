"""Instants to periods: `python -m benchmarks calendars [--quick]`, one core.

Measured on 2026-11-18 by that command, in millions of instants a second: months in New York 90 (target 20), billing
months of 10,000 distinct anchors 25 (target 2).

Chronons are uniform over two years and in no order, the worst for caches and branch prediction. The peers answer an
easier question (months from the 1st), because none of them has anchors, zones and clamping together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.figures import Figure, median_seconds, table
from calendars import Calendar, KeyedCalendar, parse_calendar, parse_instant

FIRST, UNTIL = parse_instant("2024-01-01T00:00:00Z"), parse_instant("2026-01-01T00:00:00Z")
ANCHORS = 10_000
REGULAR_TARGET, KEYED_TARGET = ">= 20e6", ">= 2e6"

REGULAR: dict[str, dict[str, Any]] = {
    "months in New York": {"every": "P1M", "zone": "America/New_York"},
    "months from the 31st in New York": {"every": "P1M", "anchor": "2024-01-31T00:00:00", "zone": "America/New_York"},
    "days in New York": {"every": "P1D", "zone": "America/New_York"},
    "hours": {"every": "PT1H"},
    "panes of 30 days, every day": {"every": "P1D", "length": "P30D", "zone": "America/New_York"},
}


def run(quick: bool = False) -> list[Figure]:
    count, rounds = (1_000_000, 3) if quick else (10_000_000, 7)
    chronons = np.random.default_rng(1).integers(FIRST, UNTIL, count)
    figures = [_regular(name, spec, chronons, rounds) for name, spec in REGULAR.items()]
    return [*figures, *_keyed(chronons[: count // 2], rounds), *_peers(chronons[: count // 2], rounds)]


def _regular(name: str, spec: dict[str, Any], chronons: np.ndarray[Any, np.dtype[np.int64]], rounds: int) -> Figure:
    calendar = parse_calendar(spec)
    return _rate(name, lambda: calendar.assign(chronons), len(chronons), rounds, REGULAR_TARGET)


def _keyed(chronons: np.ndarray[Any, np.dtype[np.int64]], rounds: int) -> list[Figure]:
    rng = np.random.default_rng(2)
    cycles = parse_calendar({"every": "P1M", "anchor": "customers.since", "zone": "America/New_York"}, columns=True)
    assert isinstance(cycles, KeyedCalendar)
    anchors = rng.choice(np.arange(FIRST, UNTIL, 60_000_000), ANCHORS, replace=False).tolist()
    calendars: list[Calendar] = [cycles.at(((FIRST, anchor, None),)) for anchor in anchors]
    index = rng.integers(0, ANCHORS, len(chronons))
    what = f"billing months of {ANCHORS:,} distinct anchors"
    return [
        _rate(what, lambda: cycles.assign_keyed(index, calendars, chronons), len(chronons), rounds, KEYED_TARGET),
        _rate(
            "the scalar path, months in New York",
            lambda: _one_by_one(chronons[:2_000].tolist()),
            2_000,
            rounds,
            detail="one Python call an instant",
        ),
    ]


def _one_by_one(chronons: list[int]) -> None:
    calendar = parse_calendar(REGULAR["months in New York"])
    for chronon in chronons:
        calendar.period_at(chronon)


def _peers(chronons: np.ndarray[Any, np.dtype[np.int64]], rounds: int) -> list[Figure]:
    stamps = pd.DatetimeIndex(chronons.view("datetime64[us]"), tz="UTC").tz_convert("America/New_York")
    arrow = pa.table({"chronon": pa.array(chronons, pa.timestamp("us"))})
    connection = duckdb.connect(config={"threads": 1})
    connection.register("chronons", arrow)
    zoned = pa.array(chronons, pa.timestamp("us", "America/New_York"))
    peers: dict[str, tuple[Callable[[], object], str]] = {
        "DuckDB date_trunc('month'), no zone": (
            lambda: connection.sql("SELECT max(date_trunc('month', chronon)) FROM chronons").fetchall(),
            "one thread; months from the 1st, of UTC, only",
        ),
        "Arrow floor_temporal(month), New York": (
            lambda: pc.floor_temporal(zoned, unit="month"),
            "months from the 1st only",
        ),
        "pandas to_period('M'), New York": (
            lambda: stamps.tz_localize(None).to_period("M"),
            "months from the 1st only; numbers, not instants",
        ),
    }
    return [_rate(name, work, len(chronons), rounds, detail=detail) for name, (work, detail) in peers.items()]


def _rate(what: str, work: Callable[[], object], count: int, rounds: int, target: str = "", detail: str = "") -> Figure:
    return Figure(what, count / median_seconds(work, rounds), "instants/s", target, detail)


if __name__ == "__main__":
    print(table(run(quick="--quick" in sys.argv[1:])), end="")
