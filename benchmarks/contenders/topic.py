"""The calls in a topic of a real broker, for contenders that read from Kafka: made once, described by `kafka.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
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
    load(work, servers, definition(source), {"calls": sorted(work.glob("calls-*.jsonl"))})


def load(
    work: Path, servers: str, definition: str, files: Mapping[str, list[Path]], ordered: Collection[str] = ()
) -> None:
    """Makes the topics of a definition and sends the lines of files into them, which keep their order within a
    partition; topics that are `ordered` have one.
    """
    (work / DEFINITION).write_text(definition)
    for cluster in clusters_of(Project.load(work / DEFINITION).definition):
        for topic in cluster.topics:
            create_topics(replace(cluster, topics=(topic,)), 1 if topic in ordered else PARTITIONS, replication=1)
    for topic, lines in files.items():
        produce(servers, topic, lines)


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
