"""`chronicle run` on a real cluster: executors of their own that share nothing with the driver but the files, killed
in the middle of epochs like the driver itself; what is left is the reference's answer."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from generators.kernels import assert_same_rows
from spark_cluster import SparkCluster, spark_cluster

sys.path.insert(0, str(Path(__file__).parents[1]))  # the group, and the jobs, of the embedded engine's tests

from engine_cases import DEEP, FIRST, append, bodies, expected, many_customers, project_in
from killing import appending
from running_jobs import RunningJob, running

from chronicle.journal import Journal
from chronicle.project import Project
from views.lookup import connect
from views.state import read_meta
from views.state.held import HELD_BELOW

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXECUTOR_KILLS, DRIVER_KILLS = (20, 8) if DEEP else (1, 1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.parametrize("sent", [True, pytest.param(False, marks=pytest.mark.deep)])
@pytest.mark.timeout(7200 if DEEP else 900)
def test_executors_and_drivers_killed_in_the_middle_of_epochs_leave_the_rows_of_the_reference(
    cluster: SparkCluster, tmp_path: Path, sent: bool
) -> None:
    """The versions that views join are `sent` to the executors that die, or followed by them; those that were sent
    grow too large for it before the last job."""
    project = project_in(tmp_path)
    assert project.journal_path is not None
    chance = random.Random(5)
    if not sent:
        outgrow(project)
    options = ("--master", cluster.url, "--store", "delta", "--max-batch", "20")
    with appending(project.journal_path, seed=7, most=2000 if DEEP else 300):
        for _ in range(DRIVER_KILLS):
            with running(tmp_path, "--trigger", "0ms", *options, SPARK_LOCAL_IP="127.0.0.1") as job:
                for _ in range(EXECUTOR_KILLS // DRIVER_KILLS):
                    kill_an_executor(cluster, job, chance)
                job.wait_for_epochs(len(job.epochs) + 1)
                time.sleep(chance.random() * 0.3)
                job.kill_group()
    assert bool(worker_indexes(project)) != sent
    if sent:
        outgrow(project)
        with Journal.open(project.journal_path) as journal:
            append(journal, bodies(seed=8), 60)
    with running(tmp_path, "--once", *options, SPARK_LOCAL_IP="127.0.0.1") as rest:
        assert rest.process.wait() == 0, rest.output()
    assert worker_indexes(project)
    views = connect(project)
    try:
        assert views.state.version_bytes > HELD_BELOW
        assert_same_rows(views, expected(project))
    finally:
        views.state.close()


def outgrow(project: Project) -> None:
    """Appends more customers than are sent to workers."""
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, iter([(FIRST, many_customers(2_000, 5_000))]), 1)


def worker_indexes(project: Project) -> list[Path]:
    """What executors on this machine have followed the state into."""
    return list(Path(tempfile.gettempdir(), f"chronicle-{os.getuid()}", read_meta(project.home).id).glob("*"))


def kill_an_executor(cluster: SparkCluster, job: RunningJob, chance: random.Random) -> None:
    """One that runs tasks of the job, somewhere in an epoch."""
    job.wait_for_epochs(len(job.epochs) + 1)
    time.sleep(chance.random() * 0.3)
    executors = cluster.executors()
    assert executors, "the job runs on executors of the cluster"
    with suppress(ProcessLookupError):
        os.kill(chance.choice(executors), signal.SIGKILL)
