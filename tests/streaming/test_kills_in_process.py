"""kill -9 at random points of the epoch loop, run in process (no Spark), while appends go on: nothing is lost, nothing
counted twice. The same with the whole Spark job is in test_kills_of_the_job.py."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from engine_cases import DEEP, assert_exact, project_in
from killing import appending, finished, killed, started

pytestmark = pytest.mark.slow

KILLS = 500 if DEEP else 20


@pytest.mark.timeout(7200 if DEEP else 300)
def test_kills_of_the_epoch_loop_in_process_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    assert project.journal_path is not None
    chance = random.Random(None if DEEP else 5)
    with appending(project.journal_path, seed=chance.randrange(1 << 30), most=100 * KILLS):
        for _ in range(KILLS):
            process = started(tmp_path / "chronicle.yaml", chance.choice([3, 20, 1000]), once=False)
            time.sleep(chance.random() * 0.3)  # where it dies is the point, and left to chance
            process.kill()
            assert killed(process)
    assert finished(tmp_path / "chronicle.yaml", 1000) == 0
    assert_exact(project)
