"""An epoch is committed once, all of it or nothing, and only by the job that took the state over last."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import pytest
from generators.delta import RecordsJob, assert_index
from generators.kernels import project_of

from chronicle.errors import ChronicleError
from chronicle.project import Project
from streaming.delta.commits import Committer, FencedError
from tests.object_store import Keep, ObjectStore, remove
from views.reference import Record, evaluate
from views.replica import compact
from views.replica.table import LEDGER, PARTIAL, active_files, create_table, open_table
from views.state import Slot, read_meta
from views.state.storage import StorageAwayError

DEFINITION = """
chronicle: 1
name: bank
shards: 2
chronicles:
  swipes: {columns: {card: string, amount: "decimal(10,2)", at: timestamp}, chronon: at}
views:
  spend: {from: swipes, group_by: card, select: {n: count(*), spend: sum(amount)}}
"""


def _swipes(count: int) -> list[Record]:
    bodies = [f'{{"card": "k{n % 5}", "amount": "{n}.25", "at": "2026-03-01T00:00:00Z"}}' for n in range(count)]
    return [Record(0, n, 1_772_400_000_000_000, None, (), body.encode()) for n, body in enumerate(bodies)]


@pytest.fixture
def project(tmp_path: Path, kept: Keep) -> Project:
    return kept(project_of(DEFINITION, tmp_path))


def _assert_exact(project: Project, job: RecordsJob, count: int) -> None:
    job.follower.catch_up()
    assert_index(project, job.follower.index, evaluate(project.definition, project.check().admitted, _swipes(count)))


def test_an_epoch_is_not_committed_twice(project: Project) -> None:
    job = RecordsJob(project, _swipes(20))
    planned, read = job.planned(0, 10)
    job.commit(planned, read)
    with pytest.raises(ChronicleError, match="has epoch 1 and cannot take epoch 1"):
        job.commit(planned, read)
    _assert_exact(project, job, 10)


def test_epochs_are_committed_in_order(project: Project) -> None:
    job = RecordsJob(project, _swipes(20))
    with pytest.raises(ChronicleError, match="has epoch 0 and cannot take epoch 2"):
        job.committer.commit(2, [], None)  # type: ignore[arg-type]  # it is refused before that is looked at


def test_a_job_that_was_taken_over_commits_nothing_however_late_it_wakes_up(project: Project) -> None:
    zombie = RecordsJob(project, _swipes(30))
    zombie.epoch(0, 10)
    asleep = zombie.planned(10, 20)
    job = RecordsJob(project, _swipes(30))
    with pytest.raises(FencedError, match="another job has taken over"):
        zombie.commit(*asleep)  # nobody has committed this epoch yet
    job.epoch(10, 20)
    with pytest.raises(FencedError, match="another job has taken over"):
        zombie.commit(*asleep)
    job.epoch(20, 30)
    with pytest.raises(FencedError):
        zombie.committer.replace(lambda work: [])
    _assert_exact(project, job, 30)


def test_of_jobs_that_begin_at_once_one_has_the_last_term_and_only_it_commits(project: Project) -> None:
    meta = RecordsJob(project, _swipes(10)).state.meta
    begun: list[Committer] = []
    threads = [threading.Thread(target=lambda: begun.append(Committer.begin(project.home, meta))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    terms = sorted(each.term for each in begun)
    assert len(set(terms)) == 4
    for each in begun:
        if each.term < terms[-1]:
            with pytest.raises(FencedError):
                each.replace(lambda work: [])
    job = RecordsJob(project, _swipes(10))
    job.epoch(0, 10)
    _assert_exact(project, job, 10)


def test_a_compaction_does_not_take_a_state_over(project: Project) -> None:
    job = RecordsJob(project, _swipes(20))
    job.epoch(0, 10)
    planned, read = job.planned(10, 20)
    compact(job.home, job.plan)
    job.commit(planned, read)
    _assert_exact(project, job, 20)


def test_files_of_an_epoch_that_was_not_committed_are_no_part_of_the_state(project: Project) -> None:
    job = RecordsJob(project, _swipes(10))
    planned, read = job.planned(0, 10)
    RecordsJob(project, _swipes(10))
    with pytest.raises(FencedError):
        job.commit(planned, read)
    assert job.home.holds("table/partial")
    assert active_files(open_table(job.home)) == []
    again = RecordsJob(project, _swipes(10))
    again.epoch(0, 10)
    _assert_exact(project, again, 10)


def test_neither_an_index_nor_a_state_without_its_table_is_taken_for_a_new_state(project: Project) -> None:
    job = RecordsJob(project, _swipes(10))
    job.epoch(0, 10)
    index = Project(project.loaded, job.follower.index)
    with pytest.raises(ChronicleError, match="an index that follows a Delta state"):
        RecordsJob(index, _swipes(10))
    remove(job.home, "table")
    with pytest.raises(ChronicleError, match="the table is gone"):
        RecordsJob(project, _swipes(10))


def test_an_epoch_is_one_commit_with_its_ledger_row(project: Project) -> None:
    job = RecordsJob(project, _swipes(10))
    before = open_table(job.home).version()
    job.epoch(0, 10)
    table = open_table(job.home)
    assert table.version() == before + 1
    assert {(file.kind, file.epoch) for file in active_files(table)} == {(PARTIAL, 1), (LEDGER, 1)}
    assert table.transaction_version("bank/epoch") == 1
    assert table.transaction_version("bank/term") == 1


def test_of_jobs_that_make_a_state_at_once_one_has_it(tmp_path: Path, bucket_url: str) -> None:
    project = Project(project_of(DEFINITION, tmp_path).loaded, bucket_url)  # where no lock holds the others off
    project.check()
    begun: list[RecordsJob] = []
    refused: list[ChronicleError] = []

    def begin() -> None:
        try:
            begun.append(RecordsJob(project, _swipes(10)))
        except ChronicleError as error:
            refused.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    *zombies, job = sorted(begun, key=lambda each: each.committer.term)
    assert len(begun) + len(refused) == 4
    for zombie in zombies:
        with pytest.raises(FencedError):
            zombie.committer.replace(lambda work: [])
    job.epoch(0, 10)
    _assert_exact(project, job, 10)


def test_a_job_that_was_taken_over_does_not_change_the_registry_of_the_next(project: Project) -> None:
    zombie, job = RecordsJob(project, _swipes(10)), RecordsJob(project, _swipes(10))
    job.state = job.state.with_slots([Slot("journal", 1)])
    with pytest.raises(ChronicleError, match="another job has changed"):
        zombie.state.with_slots([Slot("journal", 2)])
    assert read_meta(project.home).slots == (Slot("journal", 0), Slot("journal", 1))


@pytest.mark.parametrize("harm", ["lose", "forbid"])
def test_an_epoch_whose_commit_was_not_answered_is_there_once(
    harm: Literal["lose", "forbid"], tmp_path: Path, bucket_url: str, object_store: ObjectStore
) -> None:
    project = Project(project_of(DEFINITION, tmp_path).loaded, bucket_url)
    job = RecordsJob(project, _swipes(20))
    object_store.harm(harm, f"{open_table(job.home).version() + 1:020d}.json")
    if harm == "forbid":
        with pytest.raises(StorageAwayError, match="403"):
            job.epoch(0, 10)
    job.epoch(0, 10)
    job.epoch(10, 20)
    _assert_exact(project, job, 20)
    assert job.committer.epoch == 2


def test_a_state_that_was_put_back_under_its_index_is_noticed(project: Project) -> None:
    job = RecordsJob(project, _swipes(20))
    job.epoch(0, 10)
    ahead = job.follower.index
    remove(job.home, "table")
    create_table(job.home, read_meta(job.home))
    with pytest.raises(ChronicleError, match="has epoch 0, and its index") as refused:
        RecordsJob(project, _swipes(20))
    assert str(ahead) in refused.value.message
