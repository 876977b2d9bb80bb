"""The calls in a topic of a real broker, for contenders that read from Kafka: made once, described by `kafka.yaml`."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, from_json

from benchmarks.contenders.native import CALLS
from benchmarks.contenders.work import definition
from benchmarks.kafka_load import produce
from chronicle.cli.machine import jar_directory
from chronicle.definitions import KafkaSource
from chronicle.kafka.topics import clusters_of, create_topics
from chronicle.project import Project

DEFINITION = "kafka.yaml"
PARTITIONS = 4


def fill(work: Path, servers: str) -> None:
    """Makes the topic and sends the calls of the files into it."""
    source = f'source: {{kafka: {{servers: "{servers}", topics: [calls]}}}}\nstate: .chronicle-kafka\n'
    (work / DEFINITION).write_text(definition(source))
    for cluster in clusters_of(Project.load(work / DEFINITION).definition):
        create_topics(cluster, PARTITIONS, replication=1)
    produce(servers, "calls", sorted(work.glob("calls-*.jsonl")))


def batch_of(work: Path) -> int:
    """Messages of a micro-batch: as many as a file has calls."""
    with next(iter(sorted(work.glob("calls-*.jsonl")))).open() as file:
        return sum(1 for _ in file)


def calls_of(spark: SparkSession, work: Path) -> DataFrame:
    source = Project.load(work / DEFINITION).definition.source
    assert isinstance(source, KafkaSource)
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", source.servers)
        .option("subscribe", "calls")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch_of(work))
        .load()
    )
    return messages.select(from_json(col("value").cast("string"), CALLS).alias("call")).select("call.*")


def jars() -> str:
    return ",".join(map(str, sorted((jar_directory() / "spark").glob("*.jar"))))
