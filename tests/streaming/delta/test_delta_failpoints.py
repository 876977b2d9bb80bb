"""A driver or a follower that dies between any two durable steps: the next one continues exactly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from generators.delta import SMALL_MAP, assert_index

sys.path.insert(0, str(Path(__file__).parents[1]))  # the group, and the appends, of the embedded engine's kills

from delta_killing import exit_code, follow, keep_current
from engine_cases import append, bodies, expected, project_in

from chronicle.journal import Journal
from chronicle.project import Project
from tests.object_store import ObjectStore
from views.replica import Follower, private_index
from views.replica.indexes import plan_of

pytestmark = pytest.mark.slow

_EPOCH = ["plan", "planned", "written", "uncommitted", "committed", "following", "fold-1", "folded-1", "folded"]
_COMPACTION = ["compacting", "compacted"]
_REBUILD = ["rebuilt", "adopted"]
_FOLLOWER = ["following", "fold-0", "folded-0", "fold-2", "folded-2"]
KILLED = -9


def _group(directory: Path) -> Project:
    project = project_in(directory)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, bodies(seed=1), 100)
    return project


@pytest.mark.parametrize("step", ["uncommitted", "committed", "compacting", "rebuilt"])
def test_a_job_on_delta_continues_exactly_after_a_death_at(step: str, tmp_path: Path) -> None:
    project = _group(tmp_path)
    definition = tmp_path / "chronicle.yaml"
    assert exit_code(keep_current, definition, 25, step) == KILLED
    assert exit_code(keep_current, definition, 25, "") == 0
    assert_index(project, private_index(project.home, plan_of(project)), expected(project))


def test_a_death_of_the_job_at_every_step_one_after_another_changes_nothing(tmp_path: Path) -> None:
    project = _group(tmp_path)
    definition = tmp_path / "chronicle.yaml"
    for step in [*_EPOCH, *_COMPACTION, *_REBUILD]:
        assert exit_code(keep_current, definition, 4, step) == KILLED, step
    assert exit_code(keep_current, definition, 25, "") == 0
    assert_index(project, private_index(project.home, plan_of(project)), expected(project))


def test_a_job_on_a_bucket_continues_exactly_on_another_machine_after_deaths(
    tmp_path: Path, bucket_url: str, object_store: ObjectStore
) -> None:
    project = Project(_group(tmp_path).loaded, bucket_url)
    definition = tmp_path / "chronicle.yaml"
    machines = [
        {**object_store.environment, "STATE": bucket_url, "CHRONICLE_LOCAL": str(tmp_path / machine)}
        for machine in ("one", "other")
    ]
    for number, step in enumerate(["planned", "uncommitted", "committed", "compacting"]):
        assert exit_code(keep_current, definition, 25, step, machines[number % 2]) == KILLED, step
    assert exit_code(keep_current, definition, 25, "", machines[0]) == 0
    index = tmp_path / "index"
    Follower(project.home, index, plan_of(project), map_size=SMALL_MAP).catch_up()
    assert_index(project, index, expected(project))


def test_a_follower_killed_at_every_step_resumes_where_each_shard_is(tmp_path: Path) -> None:
    project = _group(tmp_path)
    definition, index = tmp_path / "chronicle.yaml", tmp_path / "index"
    assert exit_code(keep_current, definition, 25, "") == 0
    for step in _FOLLOWER:
        assert exit_code(follow, definition, index, step) == KILLED, step
    assert exit_code(follow, definition, index, "") == 0
    assert_index(project, index, expected(project))
