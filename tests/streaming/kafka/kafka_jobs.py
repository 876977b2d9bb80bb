"""Groups over real topics, and the real job on them in the tests' shared Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from generators.delta import SMALL_MAP
from kafka import KafkaAdminClient, KafkaProducer
from pyspark.sql import SparkSession

from chronicle.project import Project
from streaming.attendance import Attendance
from streaming.delta.store import open_delta
from streaming.epochs import EpochRunner
from streaming.job import EpochReport, Job
from streaming.kafka_source import KafkaSource
from streaming.planning import meaning
from streaming.run import plan_of
from views.lookup import Views, connect
from views.reference import Record
from views.state import Slot, State, writer_lock

Message = tuple[str, int, bytes | None, Sequence[tuple[str, bytes]]]
"""Topic, partition, value, headers."""

CALLS: dict[str, Any] = {
    "columns": {"caller": "string", "seconds": "int64", "at": "timestamp"},
    "chronon": "at",
}
TOTALS: dict[str, Any] = {
    "from": "calls",
    "group_by": "caller",
    "select": {"calls": "count(*)", "seconds": "sum(seconds)"},
}


def call(caller: str, seconds: int = 1, at: str = "2026-03-01T10:00:00Z") -> bytes:
    return f'{{"caller": "{caller}", "seconds": {seconds}, "at": "{at}"}}'.encode()


def project_on(
    directory: Path, servers: str, topics: Sequence[str], options: dict[str, str] | None = None, **parts: Any
) -> Project:
    """A project of these topics; `parts` of the definition stand beside calls and their totals, or replace them."""
    source = {"kafka": {"servers": servers, "topics": list(topics), "options": options or {}}}
    whole = {"chronicle": 1, "name": "g", "shards": 3, "chronicles": {"calls": CALLS}, "views": {"totals": TOTALS}}
    directory.mkdir(exist_ok=True)
    file = directory / "chronicle.yaml"
    file.write_text(yaml.safe_dump({**whole, "source": source, **parts}, sort_keys=False, allow_unicode=True))
    return Project.load(file)


def make_topics(servers: str, configs: dict[str, str] | None = None, **partitions: int) -> None:
    with admin_of(servers) as admin:
        wanted = {
            name: {"num_partitions": count, "replication_factor": 1, "configs": configs or {}}
            for name, count in partitions.items()
        }
        admin.create_topics(wanted, wait_for_metadata=True)


@contextmanager
def admin_of(servers: str) -> Iterator[Any]:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        yield admin
    finally:
        admin.close()


def send(servers: str, messages: Sequence[Message], timestamp: int | None = None, **options: Any) -> list[int]:
    """Sends one after another; the offset that each got. `timestamp` in milliseconds."""
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5, **options)
    try:
        sent = [
            producer.send(
                topic, value=value, key=_key(value), partition=at, headers=list(headers), timestamp_ms=timestamp
            )
            for topic, at, value, headers in messages
        ]
        return [each.get(30).offset for each in sent]
    finally:
        producer.close()


def _key(value: bytes | None) -> bytes | None:
    """A message without a value has a key, or the client refuses it."""
    return b"a key" if value is None else None


def send_records(servers: str, slots: Sequence[Slot], records: Sequence[Record], **options: Any) -> None:
    """Sends records of the reference to the topic-partitions that their slots are; offsets must come out the same."""
    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5, **options)
    try:
        sent = [
            producer.send(
                slots[record.slot].topic,
                value=record.value,
                key=record.key or _key(record.value),
                partition=slots[record.slot].partition,
                headers=[(name, value or b"") for name, value in record.headers],
                timestamp_ms=record.timestamp // 1000,
            )
            for record in records
        ]
        assert [each.get(30).offset for each in sent] == [record.offset for record in records]
    finally:
        producer.close()


def _ignore(report: EpochReport) -> None:
    """Nobody watches."""


@contextmanager
def kafka_job(
    spark: SparkSession,
    project: Project,
    *,
    say: Callable[[str], None] = print,
    most: int = 100_000,
    store: str = "embedded",
) -> Iterator[Job]:
    """The job over the project's topics, holding its state's lock."""
    with writer_lock(project.state_dir):
        source = KafkaSource.of(project.definition).settled(project.home)
        runner = (_delta_runner if store == "delta" else _runner)(spark, project, source)
        means = meaning(project.definition)
        job = Job(spark, runner, source, most, _ignore, 600, means, attendance=Attendance(say, 60))
        try:
            yield job
        finally:
            job.state.close()


def _runner(spark: SparkSession, project: Project, source: KafkaSource) -> EpochRunner:
    plan = plan_of(project)
    state = State.prepare(
        project.state_dir.absolute(),
        project.definition.name,
        plan.view_layouts,
        plan.relation_layouts,
        shards=project.definition.shards,
        tzdata="test",
        topics=source.partitions(),
        map_size=SMALL_MAP,
    )
    return EpochRunner(spark, plan, state, source)


def _delta_runner(spark: SparkSession, project: Project, source: KafkaSource) -> EpochRunner:
    plan = plan_of(project)
    opened = open_delta(project, plan, source.partitions(), map_size=SMALL_MAP)
    return opened.runner(spark, plan, source)


def drain(spark: SparkSession, project: Project, store: str = "embedded") -> None:
    with kafka_job(spark, project, store=store) as job:
        job.drain({slot: extent.next for slot, extent in job.source.extents().items()})


def rows(project: Project, view: str = "totals") -> dict[Any, tuple[Any, ...]]:
    """The rows of a view: key values to the others."""
    return {tuple(row.key.values()): tuple(row.values.values()) for row in opened(project)[view].scan()}


def fates(project: Project) -> dict[str, int]:
    return {fate: count for fate, count in opened(project).ledger().fates.items() if count}


def opened(project: Project) -> Views:
    return connect(project)
