"""The engine from the journal beside what people would use instead; and what an epoch costs at least, beside a
micro-batch that does nothing. Every contender keeps the same four views over the same calls."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.contenders.work import make
from benchmarks.figures import Figure
from benchmarks.processes import contend
from benchmarks.race import race, settled

CONTENDERS = {
    "ours": "Chronicle, durable",
    "native": "native Structured Streaming, RocksDB",
    "duckdb_batch": "DuckDB in batch, in memory",
    "polars_batch": "Polars in batch, in memory",
    "dict_loop": "a loop in Python, a dict a view",
}
SMALL = 1_000
"""Appends of a small epoch."""


def run(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        return [
            *throughput(Path(directory) / "race", 200_000 if quick else 2_000_000, rounds=1 if quick else 3),
            *fixed_cost(Path(directory) / "small", epochs=40 if quick else 200),
        ]


def throughput(work: Path, calls: int, rounds: int) -> list[Figure]:
    make(work, calls)
    ran = race(work, calls, CONTENDERS, rounds)
    shutil.rmtree(work)
    return [
        *ran.figures(),
        ran.ratio("ours", "native", ">= 5"),
        ran.ratio("ours", "native", measure="warm"),
        ran.ratio("ours", "native", measure="whole"),
        ran.ratio("ours", "duckdb_batch", ">= 0.5"),
    ]


def fixed_cost(work: Path, epochs: int) -> list[Figure]:
    make(work, SMALL * epochs, files=1)
    ours = contend("epochs", work, str(SMALL))
    plain, tuned = (contend("empty_triggers", work, str(epochs), *flags) for flags in ((), ("--tuned",)))
    small, empty, least = (settled(each.printed) for each in (ours, plain, tuned))
    what, nothing = f"epoch of {SMALL:,} appends", "trigger of an empty foreachBatch"
    return [
        Figure(f"{what}, all of its trigger", small * 1e3, "ms", "", f"{epochs} epochs{ours.memory}"),
        Figure(f"{nothing}, Spark as it comes", empty * 1e3, "ms", "", f"{epochs} triggers{plain.memory}"),
        Figure(f"{nothing}, with the job's settings", least * 1e3, "ms", "", f"{epochs} triggers{tuned.memory}"),
        Figure(f"{what} against an empty trigger, Spark as it comes", small / empty, "times", "<= 2.5"),
        Figure(f"{what} against an empty trigger with the job's settings", small / least, "times", "<= 2.5"),
    ]
