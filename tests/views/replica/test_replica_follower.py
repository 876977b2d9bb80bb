"""Followers hold the reference's rows and ledger, whenever they look, wherever they begin, whatever is compacted."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from generators import Scenario, scenarios
from generators.delta import RecordsJob, assert_index, delta_project
from generators.kernels import messages_of, project_of
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.errors import ChronicleError
from chronicle.project import Project
from tests.object_store import Keep, remove
from views.lookup import connect
from views.reference import Record, evaluate
from views.replica import compact
from views.replica.compaction import vacuum
from views.replica.indexes import Keeper, plan_of
from views.replica.table import open_table

_cuts = st.sets(st.integers(1, 24), max_size=4)
_shards = st.sampled_from([1, 2, 3])

DEFINITION = """
chronicle: 1
name: telecom
shards: 2
chronicles:
  calls: {columns: {caller: string, seconds: int64, at: timestamp}, chronon: at}
views:
  totals: {from: calls, group_by: caller, select: {calls: count(*), seconds: sum(seconds)}}
"""
FURTHER = DEFINITION + "  longest: {from: calls, group_by: caller, select: {longest: max(seconds)}}\n"


def calls(count: int) -> list[Record]:
    bodies = [f'{{"caller": "c{n % 7}", "seconds": {n}, "at": "2026-03-01T00:00:{n % 60:02d}Z"}}' for n in range(count)]
    return [Record(0, n, 1_772_400_000_000_000 + n, None, (), body.encode()) for n, body in enumerate(bodies)]


def assert_holds(project: Project, index: Path, records: list[Record]) -> None:
    assert_index(project, index, evaluate(project.definition, project.check().admitted, records))


@settings(max_examples=10)
@given(
    scenario=scenarios(correct=True), cuts=_cuts, shards=_shards, looks=st.sets(st.integers(0, 4)), late=st.booleans()
)
def test_an_index_is_the_reference_wherever_it_begins_and_whenever_it_looks(
    scenario: Scenario, cuts: set[int], shards: int, looks: set[int], late: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = delta_project(scenario, Path(directory), shards)
        job = RecordsJob(project, scenario.records)
        steady = job.follow_into(Path(directory, "steady"))
        places = sorted({0, *(cut for cut in cuts if cut < len(scenario.records)), len(scenario.records)})
        for number, (first, last) in enumerate(pairwise(places)):
            job.epoch(first, last)
            if number in looks:
                steady.catch_up()
            elif late:
                compact(job.home, job.plan)
        steady.catch_up()
        begun = job.follow_into(Path(directory, "begun"))
        begun.catch_up()
        for index in (job.follower.index, steady.index, begun.index):
            assert_holds(project, index, list(scenario.records))


def test_following_again_changes_nothing(tmp_path: Path) -> None:
    project = project_of(DEFINITION, tmp_path)
    job = RecordsJob(project, calls(20))
    job.epoch(0, 20)
    index = tmp_path / "index"
    assert job.follow_into(index).catch_up() == 1
    assert job.follow_into(index).catch_up() == 0
    assert_holds(project, index, calls(20))


def test_two_followers_of_one_index_fold_every_epoch_once(tmp_path: Path) -> None:
    project = project_of(DEFINITION, tmp_path)
    job = RecordsJob(project, calls(40))
    one, other = job.follow_into(tmp_path / "index"), job.follow_into(tmp_path / "index")
    for first in range(0, 40, 10):
        job.epoch(first, first + 10)
        one.catch_up()
        if first % 20:
            other.catch_up()
    assert_holds(project, tmp_path / "index", calls(40))


def test_a_follower_that_a_vacuum_has_overtaken_fills_its_index_anew(tmp_path: Path, kept: Keep) -> None:
    project = kept(project_of(DEFINITION, tmp_path))
    job = RecordsJob(project, calls(40))
    follower = job.follow_into(tmp_path / "index")
    job.epoch(0, 10)
    follower.catch_up()
    job.epoch(10, 20)
    job.epoch(20, 30)
    compact(job.home, job.plan)
    assert vacuum(job.home, 0) > 0
    job.epoch(30, 40)
    assert follower.catch_up() == 3
    assert_holds(project, tmp_path / "index", calls(40))


def test_a_follower_that_a_clean_up_of_the_log_has_overtaken_skips_nothing(tmp_path: Path, kept: Keep) -> None:
    project = kept(project_of(DEFINITION, tmp_path))
    job = RecordsJob(project, calls(40))
    follower = job.follow_into(tmp_path / "index")
    job.epoch(0, 10)
    follower.catch_up()
    job.epoch(10, 20)
    job.epoch(20, 30)
    open_table(job.home).create_checkpoint()
    remove(job.home, "table/_delta_log/*.json")
    assert follower.catch_up() == 2
    assert_holds(project, tmp_path / "index", calls(30))


def test_an_index_is_of_one_state_only(tmp_path: Path) -> None:
    for number in ("one", "other"):
        (tmp_path / number).mkdir()
        job = RecordsJob(project_of(DEFINITION, tmp_path / number), calls(5))
        job.epoch(0, 5)
        follower = job.follow_into(tmp_path / "index")
        if number == "one":
            follower.catch_up()
    with pytest.raises(ChronicleError, match="an index of another state"):
        follower.catch_up()


def test_readers_of_a_kept_index_go_on_with_the_views_that_a_state_comes_to_have(tmp_path: Path, kept: Keep) -> None:
    records = calls(30)
    job = RecordsJob(kept(project_of(DEFINITION, tmp_path)), records)
    job.epoch(0, 10)
    Keeper(job.home, tmp_path / "index", job.plan).catch_up()
    project = kept(project_of(FURTHER, tmp_path))
    reading = connect(project, tmp_path / "index")
    assert list(reading["totals"].scan())
    keeper = Keeper(job.home, tmp_path / "index", plan_of(project))
    later = RecordsJob(project, records)
    later.repair(lambda part: messages_of(records[part.start : part.end]), 10)  # the view is new: it is built
    keeper.catch_up()
    later.epoch(10, 30)
    keeper.catch_up()
    reading.state  # noqa: B018  # looks now whether there is another index, and not in a second
    assert len(list(reading["longest"].scan())) == 7
    assert_holds(project, tmp_path / "index", records)


def test_an_index_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    project = project_of(DEFINITION, tmp_path)
    job = RecordsJob(project, calls(20))
    job.epoch(0, 10)
    job.state.close()
    shutil.rmtree(job.home.indexes)
    job = RecordsJob(project, calls(20))
    job.epoch(10, 20)
    assert_holds(project, job.follower.index, calls(20))
