"""Work with time in it, where a contender can say it at all: the version of a customer in force at a call, months in a
zone, thirty moving days. The table beside the figures tells who cannot, and why."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import brokers
from benchmarks.contenders.billing import make
from benchmarks.contenders.topic import load
from benchmarks.figures import Figure
from benchmarks.race import race
from chronicle.cli.machine import jar_directory

CONTENDERS = {
    "billing_ours": "Chronicle, durable",
    "billing_native": "native Structured Streaming, RocksDB",
    "billing_flink": "Flink SQL from Kafka, RocksDB",
    "billing_duckdb": "DuckDB in batch, in memory",
    "billing_dicts": "a loop in Python, a dict a view",
}
WHAT = "joined as of then, by month, over 30 days"

SAYS = Path(__file__).with_name("billing.md")
"""Who can say it: a table."""


def run(quick: bool) -> list[Figure | str]:
    with tempfile.TemporaryDirectory() as directory:
        return [*throughput(Path(directory), 20_000 if quick else 200_000, rounds=1 if quick else 3), SAYS.read_text()]


def throughput(work: Path, calls: int, rounds: int) -> list[Figure]:
    make(work, calls)
    if not list((jar_directory() / "flink").glob("*.jar")):
        return _raced(work, calls, rounds)
    with brokers.started(work) as servers:
        source = f'source: {{kafka: {{servers: "{servers}", topics: [calls, customers]}}}}\n'
        files = {"calls": sorted(work.glob("calls-*.jsonl")), "customers": [work / "customers.jsonl"]}
        load(work, servers, (work / "chronicle.yaml").read_text() + source, files, ordered=("customers",))
        return _raced(work, calls, rounds)


def _raced(work: Path, calls: int, rounds: int) -> list[Figure]:
    ran = race(work, calls, CONTENDERS, rounds, WHAT)
    return [
        *ran.figures(),
        ran.ratio("billing_ours", "billing_native", ">= 5"),
        ran.ratio("billing_ours", "billing_flink", ">= 5"),
        ran.ratio("billing_ours", "billing_duckdb", ">= 0.5"),
    ]
