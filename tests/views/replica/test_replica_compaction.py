"""Compaction keeps INV_DT (deferred-view-maintenance §3.4): a view is always its snapshot and the partials since."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from deltalake import DeltaTable
from generators import Scenario, scenarios
from generators.delta import RecordsJob, delta_project
from generators.kernels import project_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replica_follower import DEFINITION, FURTHER, assert_holds, calls

from chronicle.errors import ChronicleError
from tests.object_store import Keep
from views.replica import compact
from views.replica.compaction import commit_snapshot, compact_shard, work_on
from views.replica.table import SNAPSHOT, active_files, open_table, read_commit


def _table(job: RecordsJob) -> DeltaTable:
    return open_table(job.home)


@settings(max_examples=5)
@given(scenario=scenarios(), cut=st.integers(1, 12), shards=st.sampled_from([1, 3]))
def test_rows_before_a_compaction_are_those_during_it_and_after_it(scenario: Scenario, cut: int, shards: int) -> None:
    records, cut = list(scenario.records), min(cut, len(scenario.records))
    with tempfile.TemporaryDirectory() as directory:
        project = delta_project(scenario, Path(directory), shards)
        job = RecordsJob(project, records)
        steady = job.follow_into(Path(directory, "steady"))

        def holds(moment: str, seen: int) -> None:
            steady.catch_up()
            begun = job.follow_into(Path(directory, moment))
            begun.catch_up()
            for index in (steady.index, begun.index):
                assert_holds(project, index, records[:seen])

        job.epoch(0, cut)
        holds("before", cut)
        table = _table(job)
        work = work_on(job.home, table)
        files = [compact_shard(work, job.plan, shard) for shard in range(shards)]
        holds("written", cut)
        job.epoch(cut, len(records))  # appends go on
        holds("appended", len(records))
        commit_snapshot(table, work, files, project.definition.name)
        holds("after", len(records))


def test_who_tails_the_log_passes_over_a_compaction(tmp_path: Path) -> None:
    job = RecordsJob(project_of(DEFINITION, tmp_path), calls(20))
    job.epoch(0, 20)
    compact(job.home, job.plan)
    commit = read_commit(job.home, _table(job).version())
    assert commit is not None
    assert commit.files == ()


def test_a_compaction_leaves_nothing_but_a_snapshot(tmp_path: Path) -> None:
    job = RecordsJob(project_of(DEFINITION, tmp_path), calls(30))
    for first in (0, 10, 20):
        job.epoch(first, first + 10)
    assert compact(job.home, job.plan) == 3
    assert {(file.kind, file.epoch) for file in active_files(_table(job))} == {(SNAPSHOT, 3)}
    assert compact(job.home, job.plan) == 0


def test_of_two_compactions_at_once_the_second_changes_nothing(tmp_path: Path, kept: Keep) -> None:
    project = kept(project_of(DEFINITION, tmp_path))
    job = RecordsJob(project, calls(10))
    job.epoch(0, 10)
    table = _table(job)
    work = work_on(job.home, table)
    files = [compact_shard(work, job.plan, shard) for shard in range(2)]
    compact(job.home, job.plan)
    before = active_files(_table(job))
    with pytest.raises(ChronicleError, match="another compaction"):
        commit_snapshot(table, work, files, project.definition.name)
    assert active_files(_table(job)) == before


def test_views_that_a_compactor_does_not_know_keep_their_rows(tmp_path: Path, kept: Keep) -> None:
    project, records = kept(project_of(FURTHER, tmp_path)), calls(30)
    job = RecordsJob(project, records)
    unknowing = job.plan.only([job.plan.views[0].name])
    job.epoch(0, 10)
    job.epoch(10, 20)
    compact(job.home, unknowing)
    job.epoch(20, 30)
    compact(job.home, unknowing)
    job.follow_into(tmp_path / "index").catch_up()
    assert_holds(project, tmp_path / "index", records)
