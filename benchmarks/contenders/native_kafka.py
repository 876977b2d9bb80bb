"""Native Structured Streaming from Kafka: one query for all four views, state in RocksDB."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.contenders.native import keep, session
from benchmarks.contenders.topic import calls_of, jars


def main(work: Path) -> None:
    spark = session(jars=jars())
    keep(spark, calls_of(spark, work), work / "native-kafka-checkpoint")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
