"""Checkpoints, half-done epochs, small maps, failing expressions and retention, through the real job on Spark."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_cases import DEFINITION, append, assert_exact, bodies, expected, project_in
from generators.kernels import assert_same
from in_process_job import leave_half_done
from pyspark.sql import SparkSession
from running_jobs import PATIENCE, running
from spark_jobs import drain, job_of

from chronicle.errors import ChronicleError
from chronicle.journal import Journal
from chronicle.project import Project
from chronicle.sequence import sequence_number
from streaming.retention import Retention
from streaming.source import JOURNAL, JournalSource
from views.lookup import connect

pytestmark = pytest.mark.spark


@pytest.fixture
def group(tmp_path: Path) -> Project:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, bodies(seed=6), 60)
    return project


def _take(spark: SparkSession, project: Project, end: int) -> None:
    with job_of(spark, project, most=15) as job:
        job.drain({JOURNAL: end})


def _delete(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)


def _spoil(checkpoint: Path) -> None:
    for file in checkpoint.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\x00garbage")


@pytest.mark.parametrize("harm", [_delete, _spoil])
def test_a_checkpoint_that_is_lost_or_damaged_does_not_matter(
    harm: Callable[[Path], None], group: Project, spark: SparkSession
) -> None:
    _take(spark, group, 30)
    harm(group.state_dir / "checkpoint")
    with job_of(spark, group) as job:
        drain(job)
    assert_exact(group)


def test_a_checkpoint_older_than_the_state_does_not_matter(group: Project, spark: SparkSession, tmp_path: Path) -> None:
    _take(spark, group, 15)
    shutil.copytree(group.state_dir / "checkpoint", tmp_path / "old")
    _take(spark, group, 45)
    shutil.rmtree(group.state_dir / "checkpoint")
    shutil.copytree(tmp_path / "old", group.state_dir / "checkpoint")
    with job_of(spark, group) as job:
        drain(job)
    assert_exact(group)


def test_shards_that_are_one_epoch_behind_get_exactly_that_epoch(group: Project, spark: SparkSession) -> None:
    _take(spark, group, 15)
    leave_half_done(group.directory / "chronicle.yaml", 20, shards=[2])
    with job_of(spark, group) as job:
        drain(job)
    assert_exact(group)


def test_a_map_that_is_too_small_grows(group: Project, spark: SparkSession) -> None:
    with job_of(spark, group, map_size=1 << 16) as job:
        drain(job)
    assert_exact(group)
    assert max(file.stat().st_size for file in group.state_dir.rglob("data.mdb")) > 1 << 16


FAILING = """
chronicle: 1
name: failing
source: {journal: journal}
state: state
chronicles: {calls: {columns: {caller: string, seconds: int64}}}
views:
  fine: {from: calls, group_by: caller, select: {calls: count(*)}}
  squares: {from: calls, group_by: caller, select: {total: sum(seconds * seconds)}}
"""


def test_a_value_that_cannot_be_computed_stops_the_job_with_view_sequence_number_and_message(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = project_in(tmp_path, FAILING)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        values = [3, 4, 1 << 62, 5]
        journal.append([b'{"caller": "a", "seconds": %d}' % value for value in values])
    with job_of(spark, project) as job, pytest.raises(ChronicleError) as failure:
        drain(job)
    assert f"view squares, append {sequence_number(2, 0)} (offset 2): " in failure.value.message
    assert "overflow" in failure.value.message.lower()
    assert failure.value.exit_code == 1
    changed = project_in(tmp_path, FAILING.replace("squares:", "doubles:").replace("seconds * seconds", "seconds"))
    with job_of(spark, changed) as job:
        drain(job)
    row = connect(changed)["doubles"].get(caller="a")
    assert row is not None
    assert row["total"] == sum(values)


def test_old_segments_go_once_every_view_has_them(spark: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path, DEFINITION.replace("retroactive: correct", "retroactive: clamp"))
    assert project.journal_path is not None
    source = bodies(seed=2)
    with Journal.open(project.journal_path, segment_bytes=1000) as journal:
        append(journal, source, 60)
        expected_rows = expected(project)
        with job_of(spark, project, most=20) as job:
            job.retention = Retention(JournalSource.at(project.journal_path), keep=0, every=0)
            job.drain({JOURNAL: 20})
            assert 0 < journal.earliest_offset() <= 20
            job.retention.keep = 10 * 365 * 86_400_000_000
            job.drain({JOURNAL: 60})
            assert journal.earliest_offset() <= 20
    views = connect(project)
    assert_same(views, expected_rows)


def test_segments_stay_as_long_as_some_shard_needs_them(spark: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    with Journal.open(project.journal_path, segment_bytes=1000) as journal:
        append(journal, bodies(seed=2), 60)
        leave_half_done(tmp_path / "chronicle.yaml", 40, shards=[0])
        with job_of(spark, project) as job:
            job.retention = Retention(JournalSource.at(project.journal_path), keep=0, every=0)
            job.stopping.set()  # SIGTERM before the epoch could be repeated
            job.drain({JOURNAL: 60})
        assert journal.earliest_offset() == 0
        with job_of(spark, project) as job:
            drain(job)
    assert_exact(project)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sigterm_while_spark_starts_leaves_with_0(group: Project) -> None:
    with running(group.directory) as job:
        _until((group.state_dir / "spark.log").exists)
        assert job.terminate() == 0, job.output()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_process_group_leaves_with_0_and_an_exact_state(
    number: signal.Signals, group: Project, spark: SparkSession
) -> None:
    """As Ctrl-C in a terminal does, and some service managers. SIGTERM ends the JVM too."""
    with running(group.directory, "--trigger", "0ms", "--max-batch", "5") as job:
        job.wait_for_epochs(2)
        os.killpg(job.process.pid, number)
        assert job.process.wait(PATIENCE) == 0, job.output()
    with job_of(spark, group) as rest:
        drain(rest)
    assert_exact(group)


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", ["planned:2", "folded-1"])
def test_the_spark_job_continues_exactly_after_a_death_at(step: str, group: Project, spark: SparkSession) -> None:
    """`planned` kills the driver; `folded-1` a worker, and each that takes its place, until Spark gives up."""
    with running(group.directory, "--once", "--max-batch", "20", CHRONICLE_FAILPOINT=step) as job:
        code = job.process.wait(PATIENCE)
        assert code == (-9 if step.startswith("planned") else 1), job.output()
        assert code == -9 or "Python workers of Spark" in job.output(), job.output()
    with job_of(spark, group) as rest:
        drain(rest)
    assert_exact(group)
