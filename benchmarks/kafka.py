"""The engine from Kafka beside native Structured Streaming, foreachBatch with MERGE into Delta by hand, Flink SQL and
Pathway: the same topic of a real broker on this machine, the same four views. DuckDB reads the same calls from files,
all at once: the limit."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import brokers
from benchmarks.contenders.topic import fill
from benchmarks.contenders.work import make
from benchmarks.figures import Figure
from benchmarks.race import race

CONTENDERS = {
    "ours_kafka": "Chronicle from Kafka, durable",
    "native_kafka": "native Structured Streaming from Kafka, RocksDB",
    "merge_kafka": "foreachBatch and Delta MERGE from Kafka",
    "flink_kafka": "Flink SQL from Kafka, RocksDB",
    "pathway_kafka": "Pathway from Kafka, in memory",
    "duckdb_batch": "DuckDB in batch, in memory",
}
OPTIONAL = {"flink_kafka": ">= 5", "pathway_kafka": ">= 3"}
"""Those that `make contenders` brings, and how many times as fast we want to be."""


def run(quick: bool) -> list[Figure]:
    if not brokers.can_start():
        return [Figure("from Kafka", math.nan, "", "", brokers.MISSING)]
    with tempfile.TemporaryDirectory() as directory:
        return throughput(Path(directory), 200_000 if quick else 2_000_000, rounds=1 if quick else 3)


def throughput(work: Path, calls: int, rounds: int, contenders: Mapping[str, str] = CONTENDERS) -> list[Figure]:
    make(work, calls)
    with brokers.started(work) as servers:
        fill(work, servers)
        ran = race(work, calls, contenders, rounds)
    return [
        *ran.figures(),
        ran.ratio("ours_kafka", "native_kafka", ">= 5"),
        ran.ratio("ours_kafka", "native_kafka", measure="warm"),
        ran.ratio("ours_kafka", "native_kafka", measure="whole"),
        ran.ratio("ours_kafka", "merge_kafka", ">= 6"),
        ran.ratio("ours_kafka", "merge_kafka", measure="warm"),
        *(ran.ratio("ours_kafka", name, bound) for name, bound in OPTIONAL.items() if name in contenders),
        ran.ratio("ours_kafka", "duckdb_batch", ">= 0.35"),
    ]
