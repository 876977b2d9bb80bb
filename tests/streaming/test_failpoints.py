"""A process that dies between any two durable steps: the next one continues exactly (design: "Nothing lost")."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_cases import append, assert_exact, bodies, project_in
from killing import finished

from chronicle.journal import Journal

pytestmark = pytest.mark.slow

_EPOCH = ["plan", "planned", *(f"{step}-{shard}" for shard in range(3) for step in ("fold", "folded")), "folded"]
_REBUILD = ["rebuild", "rebuilding", "rebuilding:3", "rebuilt", "adopted"]
KILLED = -9


def _group(directory: Path) -> Path:
    project = project_in(directory)
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        append(journal, bodies(seed=1), 120)
    return directory / "chronicle.yaml"


@pytest.mark.parametrize("step", ["prepared", *_EPOCH, *(f"{step}:3" for step in _EPOCH), *_REBUILD])
def test_the_kernels_in_process_continue_exactly_after_a_death_at(step: str, tmp_path: Path) -> None:
    definition = _group(tmp_path)
    assert finished(definition, 25, failpoint=step) == KILLED
    assert finished(definition, 25) == 0
    assert_exact(project_in(tmp_path))


def test_a_death_at_every_step_one_after_another_changes_nothing(tmp_path: Path) -> None:
    definition = _group(tmp_path)
    for step in ["prepared", *_EPOCH, *_REBUILD]:
        finished(definition, 4, failpoint=step)
    assert finished(definition, 25) == 0
    assert_exact(project_in(tmp_path))
