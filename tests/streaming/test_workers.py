"""What a Python worker of Spark keeps between tasks."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from engine_cases import project_in
from in_process_job import keep_current

from streaming.run import plan_of
from streaming.tasks import Group
from views.state import State


@dataclass(frozen=True)
class Shipped:
    """Stands where Spark's broadcast is in a job."""

    value: bytes


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    project = project_in(tmp_path)
    keep_current(tmp_path / "chronicle.yaml", 10, once=True)
    state = State.open(project.state_dir)
    shipped = Shipped(pickle.dumps(plan_of(project)))
    yield Group(project.state_dir, state.meta.id, state.shards, "first", shipped, state.map_size)
    gc.unfreeze()
    state.close()


def test_what_a_worker_keeps_is_no_work_for_the_collector(group: Group) -> None:
    everything = len(gc.get_objects())
    kept = group.opened()
    assert len(gc.get_objects()) < everything / 10
    assert group.opened() is kept


def test_a_worker_lets_go_of_what_was_opened_for_another_plan(group: Group) -> None:
    first = weakref.ref(group.opened()[2])
    replace(group, plan_id="second").opened()
    assert first() is None
