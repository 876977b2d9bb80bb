"""Brokers that go away and come back, and offsets that do not: waited for, or refused, never skipped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from kafka import TopicPartition
from kafka_jobs import admin_of, call, drain, fates, kafka_job, make_topics, opened, project_on, rows, send
from pyspark.sql import SparkSession

from chronicle.errors import ChronicleError
from chronicle.kafka.broker import Broker
from streaming.attendance import Attendance
from streaming.planning import next_plan
from streaming.run import RunOptions, run
from streaming.source import OffsetsGoneError
from views.state import Slot

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.mark.slow
def test_a_broker_killed_and_started_again_in_the_middle_of_a_run_costs_nothing_but_time(
    spark: SparkSession, own_broker: Broker, tmp_path: Path
) -> None:
    project = project_on(tmp_path / "group", own_broker.servers, ["calls"])
    make_topics(own_broker.servers, calls=2)
    said: list[str] = []
    epochs, away, back = threading.Semaphore(0), threading.Event(), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        (back if "answers again" in text else away).set()

    failures: list[BaseException] = []
    with kafka_job(spark, project, say=say) as job:
        job.attendance.patience = None
        job.watch = lambda report: epochs.release()

        def follow() -> None:
            try:
                job.follow("100 milliseconds")
            except BaseException as error:
                failures.append(error)

        following = threading.Thread(target=follow)
        following.start()
        try:
            for turn in (1, 2):
                send(own_broker.servers, [("calls", n % 2, call(f"c{n}"), ()) for n in range(10)])
                assert epochs.acquire(timeout=120)
                own_broker.kill()
                assert away.wait(120), failures
                own_broker.start()
                assert back.wait(120), failures
                away.clear()
                back.clear()
                assert len(said) == 2 * turn
            send(own_broker.servers, [("calls", 0, call("last"), ())])
            while sum(fates(project).values()) < 21:
                assert epochs.acquire(timeout=120), failures
        finally:
            job.stopping.set()
            following.join(120)
    assert not failures
    assert f"Kafka at {own_broker.servers} does not answer" in said[0]
    assert rows(project) == {**{(f"c{n}",): (2, 2) for n in range(10)}, ("last",): (1, 1)}
    assert fates(project) == {"applied": 21}


def test_a_broker_that_stays_away_fails_a_run_that_is_to_end(tmp_path: Path) -> None:
    project = project_on(tmp_path, "127.0.0.1:1", ["calls"], {"default.api.timeout.ms": "300"})
    said: list[str] = []
    with pytest.raises(ChronicleError, match=r"Kafka at 127.0.0.1:1 does not answer .* for \d+ s now"):
        run(project, RunOptions(once=True), print, print, Attendance(said.append, 0.5))
    assert len(said) == 1
    assert not project.state_dir.exists()


def test_a_topic_that_is_missing_is_named_with_what_makes_it(kafka_servers: str, topic: str, tmp_path: Path) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    with pytest.raises(ChronicleError, match=f"has no topic {topic}") as raised:
        run(project, RunOptions(once=True), print, print, Attendance(print, 0.0))
    assert "chronicle topics create" in raised.value.hint


@pytest.mark.slow
def test_the_command_drains_a_topic_and_needs_no_jars(kafka_servers: str, topic: str, tmp_path: Path) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 2})
    send(kafka_servers, [(topic, n % 2, call("c"), ()) for n in range(10)])
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[3]), "CHRONICLE_JARS": str(tmp_path / "none")}
    command = [sys.executable, "-m", "chronicle.cli.main", "run", "--once"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows(project) == {("c",): (10, 10)}


def test_offsets_that_retention_took_are_refused_with_what_is_missing(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 1})
    send(kafka_servers, [(topic, 0, call("c"), ())] * 10)
    with admin_of(kafka_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 4})
    drain(spark, project)  # a new state begins at what there is
    assert fates(project) == {"applied": 6}
    send(kafka_servers, [(topic, 0, call("c"), ())] * 10)
    with admin_of(kafka_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 15})
    with pytest.raises(OffsetsGoneError, match=f"{topic}-0: offsets 10 to 14") as raised:
        drain(spark, project)
    assert "restore" in raised.value.hint
    assert "--state" in raised.value.hint
    assert fates(project) == {"applied": 6}


def test_an_epoch_whose_offsets_went_before_it_could_be_repeated_is_refused(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 1})
    send(kafka_servers, [(topic, 0, call("c"), ())] * 10)
    with kafka_job(spark, project) as job:
        planned = next_plan(job.state.meta, job.standing(), {}, {Slot(topic, 0): 10}, means=job.means)
        job.state.epochs.write(planned)
        with admin_of(kafka_servers) as admin:
            admin.delete_records({TopicPartition(topic, 0): 4})
        with pytest.raises(OffsetsGoneError, match=f"{topic}-0: offsets 0 to 3"):
            job.drain({Slot(topic, 0): 10})


def test_a_topic_made_anew_is_refused_although_it_has_grown_beyond_the_ledger(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 1})
    send(kafka_servers, [(topic, 0, call("c"), ())] * 3)
    drain(spark, project)
    with kafka_job(spark, project) as job:
        with admin_of(kafka_servers) as admin:
            admin.delete_topics([topic])
        make_topics(kafka_servers, **{topic: 1})
        send(kafka_servers, [(topic, 0, call("another"), ())] * 10)
        with pytest.raises(OffsetsGoneError, match=f"{topic} was deleted and made anew"):
            job.drain({Slot(topic, 0): 10})
    with pytest.raises(OffsetsGoneError, match="made anew"):
        drain(spark, project)
    assert opened(project).state.shard(0).standing().slots[0].next_offset == 3
    assert rows(project) == {("c",): (3, 3)}
