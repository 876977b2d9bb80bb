"""kill -9 of `chronicle run` itself: of all its processes, of the driver alone, of its Python workers; appends go on.

Spark takes seconds to start, so these kills are few; those of the epoch loop without Spark are in
test_kills_in_process.py, and together they are at least 25 in `make test` and 500 in `make test-deep`.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_cases import DEEP, assert_exact, project_in
from killing import appending
from pyspark.sql import SparkSession
from running_jobs import running
from spark_jobs import drain, job_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILLS = 40 if DEEP else 5
WORKER_KILLS = 60 if DEEP else 8


@pytest.mark.timeout(7200 if DEEP else 900)
def test_kills_of_the_whole_spark_job_lose_nothing_and_count_nothing_twice(tmp_path: Path, spark: SparkSession) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    chance = random.Random(None if DEEP else 7)
    with ExitStack() as jobs, appending(project.journal_path, seed=chance.randrange(1 << 30), most=600 * KILLS):
        for number in range(KILLS):
            most = str(chance.choice([5, 50]))
            job = jobs.enter_context(running(tmp_path, "--trigger", "0ms", "--max-batch", most))
            job.wait_for_epochs(chance.randrange(1, 4))
            time.sleep(chance.random() * 0.3)  # where it dies is the point, and left to chance
            if number % 3 == 2:
                job.kill_driver()  # its JVM may still be writing when the next job starts
            else:
                job.kill_group()
    with job_of(spark, project) as last:
        drain(last)
    assert_exact(project)


@pytest.mark.timeout(7200 if DEEP else 600)
def test_killed_python_workers_are_replaced_and_sigterm_ends_the_job_between_two_epochs(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    chance = random.Random(None if DEEP else 3)
    with running(tmp_path, "--trigger", "0ms", "--max-batch", "40") as job:
        with appending(project.journal_path, seed=9, most=4000 if DEEP else 800):
            for kills in range(WORKER_KILLS):
                job.wait_for_epochs(kills + 1)
                job.kill_workers(chance, chance.randrange(1, 4))
            job.wait_for_epochs(WORKER_KILLS + 1)
        assert job.terminate() == 0, job.output()
    with running(tmp_path, "--once") as rest:
        assert rest.process.wait() == 0, rest.output()
    assert_exact(project)
