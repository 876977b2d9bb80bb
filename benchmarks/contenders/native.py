"""Native Structured Streaming: one query for all four views, state in RocksDB, one file a micro-batch.

Several aggregations of one stream are one aggregation over (view, key): each call is exploded into a row for each view.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, count, explode, lit, struct
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import sum as total
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.contenders.work import VIEWS, Answer, report

CALLS = "caller string, callee string, seconds bigint, kind string, at timestamp"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def main(work: Path) -> None:
    spark = session()
    calls = spark.readStream.schema(CALLS).option("maxFilesPerTrigger", 1).json(str(work / "calls-*.jsonl"))
    keep(spark, calls, work / "native-checkpoint")
    spark.stop()


def session(master: str = "local[2]", jars: str = "", **settings: str) -> SparkSession:
    builder = SparkSession.builder.master(master).config("spark.jars", jars)
    for key, value in {**SETTINGS, **settings}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def summaries(calls: DataFrame) -> DataFrame:
    keyed = [
        struct(
            lit(view).alias("view"),
            col(keys[0]).alias("first"),
            (col(keys[1]) if len(keys) > 1 else lit(None).cast("string")).alias("second"),
        )
        for view, keys in VIEWS.items()
    ]
    exploded = calls.select(explode(array(*keyed)).alias("key"), "seconds").select("key.*", "seconds")
    return exploded.groupBy("view", "first", "second").agg(
        count("*").alias("calls"), total("seconds").alias("seconds"), largest("seconds").alias("longest")
    )


def keep(
    spark: SparkSession,
    calls: DataFrame,
    checkpoint: Path,
    views: Callable[[DataFrame], DataFrame] = summaries,
) -> None:
    """Streams all there is through the views, and reports."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    stream = views(calls).writeStream.outputMode("update").format("noop")
    query = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = seconds_of(query)

    def answers() -> Iterator[Answer]:
        state = spark.read.format("statestore").load(str(checkpoint)).select("key.*", "value.*")
        yield from rows_of(state)

    report(sum(seconds), sum(seconds[1:]), answers)


def seconds_of(query: StreamingQuery) -> list[float]:
    return [progress.batchDuration / 1000 for progress in query.recentProgress if progress.numInputRows]


def rows_of(kept: DataFrame) -> Iterator[Answer]:
    """Rows of view, two key columns (the second may be null), and the values."""
    for view, first, second, *values in kept.toLocalIterator(prefetchPartitions=True):
        yield (view, (first,) if second is None else (first, second), *values)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
