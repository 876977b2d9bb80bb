"""The job on Spark with the Delta store: its index, any follower and any compaction are the reference."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from generators import Scenario, scenarios
from generators.delta import SMALL_MAP, assert_index
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))  # the group, and the jobs, of the embedded engine's tests

from engine_cases import DEEP, FIRST, append, bodies, expected, journalled, many_customers, project_in
from spark_jobs import drain

from chronicle.journal import Journal
from chronicle.project import Project
from streaming.delta.compacting import compact_in
from streaming.delta.relations import Relations
from streaming.delta.runner import DeltaRunner
from streaming.delta.store import open_delta
from streaming.delta.tasks import ClusterGroup
from streaming.job import Job
from streaming.planning import meaning, settle_definition
from streaming.run import plan_of
from streaming.source import JOURNAL, JournalSource
from tests.object_store import Keep
from views.replica import Follower
from views.state import writer_lock
from views.state.held import HELD_BELOW

pytestmark = pytest.mark.spark


@contextmanager
def _delta_job(spark: SparkSession, project: Project, most: int = 1000) -> Iterator[Job]:
    plan, means = plan_of(project), meaning(project.definition)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    with writer_lock(project.home.own):
        delta = open_delta(project, plan, {JOURNAL.topic: 1}, map_size=SMALL_MAP).of_journal(source.id)
        settle_definition(delta.state, means)
        runner = delta.runner(spark, plan, source)
        job = Job(spark, runner, source, most, lambda report: None, idle_seconds=600, means=means)
        try:
            yield job
        finally:
            job.state.close()


def _project(scenario: Scenario, directory: str, shards: int) -> Project:
    project = project_in(Path(directory), yaml.safe_dump({**scenario.definition, "shards": shards}, sort_keys=False))
    journalled(project, scenario.records)
    return project


@settings(max_examples=100 if DEEP else 4, phases=[Phase.explicit, Phase.generate])
@given(
    scenario=scenarios(correct=True),
    most=st.sampled_from([3, 10, 1000]),
    shards=st.integers(1, 4),
    held_below=st.sampled_from([None, 0, 10_000, HELD_BELOW]),
)
def test_structured_streaming_into_delta_is_the_reference(
    spark: SparkSession, scenario: Scenario, most: int, shards: int, held_below: int | None
) -> None:
    """On one machine, or by workers that have versions of relations sent below so many bytes."""
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        project = _project(scenario, directory, shards)
        if held_below is not None:
            patch.setattr(DeltaRunner, "_is_local", False)
        with _delta_job(spark, project, most) as job:
            _relations_of(job).held_below = held_below or 0
            drain(job)
            follower = Follower(project.home, Path(directory, "i"), plan_of(project), map_size=SMALL_MAP)
            follower.catch_up()
            indexes = [job.state.directory, follower.index]
        for index in indexes:
            assert_index(project, index, expected(project))


@pytest.mark.parametrize("held_below", [0, HELD_BELOW])
def test_workers_that_share_no_disk_but_the_tables_are_sent_small_relations_and_follow_large_ones_themselves(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Keep, held_below: int
) -> None:
    monkeypatch.setattr(DeltaRunner, "_is_local", False)
    project = kept(project_in(tmp_path))
    for name, value in os.environ.items():
        if name.startswith("AWS_"):  # the JVM may have been started before they were there
            monkeypatch.setitem(spark.sparkContext.environment, name, value)
    _append(project, bodies(seed=3), 120)
    with _delta_job(spark, project, 20) as job:
        _relations_of(job).held_below = held_below
        drain(job)
        index = job.state.directory
        assert bool(_worker_indexes(job)) == (held_below == 0)
    assert_index(project, index, expected(project))


def test_a_relation_that_outgrows_what_is_sent_is_followed_from_then_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeltaRunner, "_is_local", False)
    project, source = project_in(tmp_path), bodies(seed=8)
    with _delta_job(spark, project, 20) as job:
        _relations_of(job).held_below = 100_000
        _append(project, source, 60)
        drain(job)
        assert job.state.version_bytes < 100_000
        assert not _worker_indexes(job)
        _append(project, ((taken, many_customers(3_000)) for taken, _ in source), 1)
        _append(project, source, 60)
        drain(job)
        assert job.state.version_bytes > 100_000
        assert _worker_indexes(job)
        index = job.state.directory
    assert_index(project, index, expected(project))


def test_versions_are_sent_again_only_when_an_epoch_has_changed_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeltaRunner, "_is_local", False)
    project = project_in(tmp_path)
    payment = b'{"_chronicle": "payments", "payer": "c1", "paid": "1", "at": "2026-02-01T00:00:00Z"}'
    with _delta_job(spark, project, 20) as job:
        sent = []
        for body in (many_customers(3), payment, many_customers(5)):
            _append(project, iter([(FIRST, body)]), 1)
            drain(job)
            group = job.runner.group
            assert isinstance(group, ClusterGroup)
            sent.append(_relations_of(job).reaching(group, job.state))
        first, same, other = (each.held for each in sent)
        assert first is same
        assert first is not other
        assert len(other.value.keys) == 5
        with pytest.raises(Exception, match="destroyed"):
            first.unpersist()


def _append(project: Project, source: Iterator[tuple[int, bytes]], count: int) -> None:
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, source, count)


def _relations_of(job: Job) -> Relations:
    assert isinstance(job.runner, DeltaRunner)
    return job.runner.relations


def _worker_indexes(job: Job) -> list[Path]:
    """What workers on this machine have followed the state of the job into."""
    return list(Path(tempfile.gettempdir(), f"chronicle-{os.getuid()}", job.state.meta.id).glob("*"))


def test_a_compaction_on_spark_between_epochs_changes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    source = bodies(seed=4)
    for _ in range(2):
        with Journal.open(project.journal_path) as journal:
            append(journal, source, 60)
        with _delta_job(spark, project, 25) as job:
            drain(job)
            assert compact_in(spark, project.home, plan_of(project)) > 0
    follower = Follower(project.home, tmp_path / "index", plan_of(project), map_size=SMALL_MAP)
    follower.catch_up()
    assert_index(project, tmp_path / "index", expected(project))


def test_the_job_compacts_by_itself_every_so_many_epochs(spark: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, bodies(seed=5), 60)
    with _delta_job(spark, project, 5) as job:
        assert isinstance(job.runner, DeltaRunner)
        job.runner.compactor.every = 4
        drain(job)
        job.runner.compactor.wait()
        assert list((project.state_dir / "table" / "snapshot").glob("*.parquet"))
    follower = Follower(project.home, tmp_path / "index", plan_of(project), map_size=SMALL_MAP)
    follower.catch_up()
    assert_index(project, tmp_path / "index", expected(project))
