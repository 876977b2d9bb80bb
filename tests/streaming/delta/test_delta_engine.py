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

from engine_cases import DEEP, append, bodies, expected, journalled, project_in
from spark_jobs import drain

from chronicle.journal import Journal
from chronicle.project import Project
from streaming.delta.compacting import compact_in
from streaming.delta.runner import DeltaRunner
from streaming.delta.store import open_delta
from streaming.epochs import JournalMapper
from streaming.job import Job
from streaming.planning import meaning, settle_definition
from streaming.run import plan_of
from streaming.source import JOURNAL, JournalSource
from tests.object_store import Keep
from views.replica import Follower
from views.state import writer_lock

pytestmark = pytest.mark.spark


@contextmanager
def _delta_job(spark: SparkSession, project: Project, most: int = 1000) -> Iterator[Job]:
    plan, means = plan_of(project), meaning(project.definition)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    with writer_lock(project.home.own):
        delta = open_delta(project, plan, {JOURNAL.topic: 1}, map_size=SMALL_MAP).of_journal(source.id)
        settle_definition(delta.state, means)
        runner = delta.runner(spark, plan, JournalMapper(source))
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
@given(scenario=scenarios(correct=True), most=st.sampled_from([3, 10, 1000]), shards=st.integers(1, 4))
def test_structured_streaming_into_delta_is_the_reference(
    spark: SparkSession, scenario: Scenario, most: int, shards: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = _project(scenario, directory, shards)
        with _delta_job(spark, project, most) as job:
            drain(job)
            follower = Follower(project.home, Path(directory, "i"), plan_of(project), map_size=SMALL_MAP)
            follower.catch_up()
            indexes = [job.state.directory, follower.index]
        for index in indexes:
            assert_index(project, index, expected(project))


def test_workers_that_share_no_disk_but_the_tables_follow_the_relations_themselves(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Keep
) -> None:
    monkeypatch.setattr(DeltaRunner, "_is_local", False)
    project = kept(project_in(tmp_path))
    for name, value in os.environ.items():
        if name.startswith("AWS_"):  # the JVM may have been started before they were there
            monkeypatch.setitem(spark.sparkContext.environment, name, value)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, bodies(seed=3), 120)
    with _delta_job(spark, project, 20) as job:
        drain(job)
        index = job.state.directory
    assert_index(project, index, expected(project))


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
