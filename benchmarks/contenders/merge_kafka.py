"""What people write by hand: foreachBatch from Kafka, each micro-batch aggregated and merged into a Delta table.

Exact only as long as no batch is repeated; it is not made so here, which would cost it more.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame

from benchmarks.contenders.native import rows_of, seconds_of, session, summaries
from benchmarks.contenders.topic import calls_of, jars
from benchmarks.contenders.work import report

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}
ROW = "view string, first string, second string, calls bigint, seconds bigint, longest bigint"


def main(work: Path) -> None:
    spark = session(jars=jars(), **SETTINGS)
    table, checkpoint = work / "merged", work / "merge-checkpoint"
    for directory in (table, checkpoint):
        shutil.rmtree(directory, ignore_errors=True)
    spark.createDataFrame([], ROW).write.format("delta").save(str(table))

    def merge(batch: DataFrame, number: int) -> None:
        target = DeltaTable.forPath(batch.sparkSession, str(table)).alias("old")
        same = "old.view = new.view and old.first = new.first and old.second <=> new.second"
        added: dict[str, str | Column] = {
            "calls": "old.calls + new.calls",
            "seconds": "old.seconds + new.seconds",
            "longest": "greatest(old.longest, new.longest)",
        }
        merging = target.merge(summaries(batch).alias("new"), same)
        merging.whenMatchedUpdate(set=added).whenNotMatchedInsertAll().execute()

    stream = calls_of(spark, work).writeStream.foreachBatch(merge).option("checkpointLocation", str(checkpoint))
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = seconds_of(query)
    report(sum(seconds), sum(seconds[1:]), lambda: rows_of(spark.read.format("delta").load(str(table))))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
