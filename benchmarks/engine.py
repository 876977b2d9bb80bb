"""The engine from the journal beside what people would use instead, in one run and in turn; and what an epoch costs at
least, beside a micro-batch that does nothing.

Every contender keeps the same four views over the same calls; in the first round their answers are compared.
"""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders.work import FILES, make
from benchmarks.figures import Figure
from benchmarks.processes import Ended, contend

CONTENDERS = {
    "ours": "Chronicle, durable",
    "native": "native Structured Streaming, RocksDB",
    "duckdb_batch": "DuckDB in batch, in memory",
    "polars_batch": "Polars in batch, in memory",
    "dict_loop": "a loop in Python, a dict a view",
}
SMALL = 1_000
"""Appends of a small epoch."""


@dataclass(frozen=True, slots=True)
class Standings:
    """The rounds of one contender: seconds of each, those without the first micro-batch, the most memory."""

    seconds: list[float]
    warm: list[float]
    megabytes: list[float]


def run(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        return [
            *throughput(Path(directory) / "race", 400_000 if quick else 2_000_000, rounds=3 if quick else 5),
            *fixed_cost(Path(directory) / "small", epochs=60 if quick else 200),
        ]


def throughput(work: Path, calls: int, rounds: int) -> list[Figure]:
    make(work, calls)
    standings, missing = _race(work, rounds)
    figures = [_rate(name, calls, standings[name]) for name in standings]
    ours, native = standings["ours"], standings["native"]
    figures += [
        _ratio("ours against native, all micro-batches", ours.seconds, native.seconds, ">= 3"),
        _ratio("ours against native, without the first micro-batch", ours.warm, native.warm),
        _ratio("ours against DuckDB in batch", ours.seconds, standings["duckdb_batch"].seconds),
    ]
    figures += [
        Figure(CONTENDERS[name], math.nan, "", "", f"not measured: no {what}") for name, what in missing.items()
    ]
    shutil.rmtree(work)
    return figures


def _race(work: Path, rounds: int) -> tuple[dict[str, Standings], dict[str, str]]:
    """All contenders in turn, several times; and which are missing for want of what."""
    standings: dict[str, Standings] = {}
    missing: dict[str, str] = {}
    answers: dict[str, str] = {}
    for number in range(rounds):
        for name in CONTENDERS:
            if name in missing:
                continue
            ended = contend(name, work, *(["--answers"] if number == 0 else []))
            if what := ended.printed.get("missing"):
                missing[name] = what
                continue
            if number == 0:
                answers[name] = ended.printed["digest"]
            _note(standings.setdefault(name, Standings([], [], [])), ended)
    _assert_equal(answers)
    return standings, missing


def _note(standings: Standings, ended: Ended) -> None:
    standings.seconds.append(ended.printed["seconds"])
    if ended.printed["warm"]:
        standings.warm.append(ended.printed["warm"])
    if ended.megabytes is not None:
        standings.megabytes.append(ended.megabytes)


def _assert_equal(answers: Mapping[str, str]) -> None:
    if len(set(answers.values())) != 1:
        raise AssertionError(f"the contenders' answers differ: {answers}")


def _rate(name: str, calls: int, standings: Standings) -> Figure:
    rates = [calls / seconds for seconds in standings.seconds]
    detail = f"{min(rates):,.0f} to {max(rates):,.0f} in {len(rates)} round{'s' * (len(rates) > 1)}"
    if standings.warm:
        warm = statistics.median(calls * (FILES - 1) / FILES / seconds for seconds in standings.warm)
        detail += f"; {warm:,.0f} without the first micro-batch"
    if standings.megabytes:
        detail += f"; {max(standings.megabytes):,.0f} MB at most"
    return Figure(f"{CONTENDERS[name]}, {calls:,} calls, 4 views", statistics.median(rates), "calls/s", "", detail)


def _ratio(what: str, ours: Sequence[float], theirs: Sequence[float], target: str = "") -> Figure:
    """Of each round by itself, for the machine may be busier in one than in another."""
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return Figure(what, statistics.median(ratios), "times", target, f"{min(ratios):.2g} to {max(ratios):.2g}")


def fixed_cost(work: Path, epochs: int) -> list[Figure]:
    make(work, SMALL * epochs, files=1)
    small = _settled(contend("epochs", work, str(SMALL)).printed)
    empty = _settled(contend("empty_triggers", work, str(epochs)).printed)
    return [
        Figure(f"epoch of {SMALL:,} appends, all of its trigger", small * 1e3, "ms", "", f"{epochs} epochs"),
        Figure("trigger of an empty foreachBatch", empty * 1e3, "ms"),
        Figure(f"epoch of {SMALL:,} appends against an empty trigger", small / empty, "times", "<= 2.5"),
    ]


def _settled(seconds: Sequence[float]) -> float:
    """The median of the latter half: the JVM compiles as it goes."""
    return statistics.median(seconds[len(seconds) // 2 :])
