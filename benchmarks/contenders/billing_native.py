"""Native Structured Streaming, RocksDB, one query. It can join the version in force only where all versions are known
before it starts, as a table of ranges; a month is a text; thirty moving days are thirty rows of each call.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from benchmarks.contenders.billing import ZONE
from benchmarks.contenders.native import keep, session


def main(work: Path) -> None:
    spark = session(**{"spark.sql.session.timeZone": "UTC"})
    calls = spark.readStream.schema("caller string, seconds bigint, at timestamp").option("maxFilesPerTrigger", 1)
    keep(
        spark, calls.json(str(work / "calls-*.jsonl")), work / "native-checkpoint", lambda c: summaries(c, spark, work)
    )
    spark.stop()


def summaries(calls: DataFrame, spark: SparkSession, work: Path) -> DataFrame:
    joined = calls.join(
        in_force(spark, work),
        (sql.col("caller") == sql.col("number"))
        & (sql.col("at") >= sql.col("since"))
        & (sql.col("at") < sql.col("until")),
        "left",
    )
    local = sql.from_utc_timestamp("at", ZONE)
    days = sql.sequence(sql.date_sub(local, 29), sql.to_date(local))
    rows = sql.concat(
        sql.array(row("monthly", sql.date_format(local, "yyyy-MM"))),
        sql.transform(days, lambda day: row("moving", day.cast("string"))),
        sql.when(sql.col("state") == "NJ", sql.array(row("jersey", sql.lit(None).cast("string")))).otherwise(
            sql.array()
        ),
    )
    exploded = joined.select("seconds", sql.explode(rows).alias("row")).select("seconds", "row.*")
    return exploded.groupBy("view", "first", "second").agg(
        sql.count("*").alias("calls"), sql.sum("seconds").alias("seconds"), sql.max("seconds").alias("longest")
    )


def in_force(spark: SparkSession, work: Path) -> DataFrame:
    changes = spark.read.schema("number string, state string, _from timestamp").json(str(work / "customers.jsonl"))
    then = sql.lead("_from", 1, "9999-01-01").over(Window.partitionBy("number").orderBy("_from"))
    return changes.select("number", "state", sql.col("_from").alias("since"), then.cast("timestamp").alias("until"))


def row(view: str, period: Column) -> Column:
    return sql.struct(sql.lit(view).alias("view"), sql.col("caller").alias("first"), period.alias("second"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
