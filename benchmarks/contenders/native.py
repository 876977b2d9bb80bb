"""Native Structured Streaming: one query for all four views, state in RocksDB, one file a micro-batch.

Several aggregations of one stream are one aggregation over (view, key): each call is exploded into a row for each view.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, count, explode, lit, struct
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import sum as total

from benchmarks.contenders.work import VIEWS, Answer, report

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main(work: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    checkpoint = work / "native-checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    calls = (
        spark.readStream.schema("caller string, callee string, seconds bigint, kind string, at timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(str(work / "calls-*.jsonl"))
    )
    query = (
        summaries(calls)
        .writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = [progress.batchDuration / 1000 for progress in query.recentProgress if progress.numInputRows]

    def answers() -> Iterator[Answer]:
        state = spark.read.format("statestore").load(str(checkpoint)).select("key.*", "value.*")
        for view, first, second, *values in state.toLocalIterator(prefetchPartitions=True):
            yield (view, (first,) if second is None else (first, second), *values)

    report(sum(seconds), sum(seconds[1:]), answers)
    spark.stop()


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
