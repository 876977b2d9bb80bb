"""What a job finds when it starts, and what it then does: continues exactly, or says why it cannot, and stops."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from engine_cases import append, assert_exact, bodies, project_in
from in_process_job import keep_current, leave_half_done, run_out_of_disk
from killing import forked

from chronicle.cli import main
from chronicle.errors import ChronicleError
from chronicle.journal import Journal
from chronicle.project import Project
from views.state import EpochLog, writer_lock


@pytest.fixture
def group(tmp_path: Path) -> Project:
    """60 appends, of which the first 40 are in the state after 4 epochs."""
    project = project_in(tmp_path)
    assert project.journal_path is not None
    source = bodies(seed=4)
    with Journal.open(project.journal_path, segment_bytes=2000) as journal:
        append(journal, source, 40)
        keep_current(tmp_path / "chronicle.yaml", 10, once=True)
        append(journal, source, 20)
    return project


def _run(project: Project, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """`chronicle run --once` in this process: these all end before Spark would be started."""
    code = main.run(["run", "--once", "-f", str(project.directory / "chronicle.yaml")])
    return code, capsys.readouterr().err


def _continue(project: Project) -> None:
    keep_current(project.directory / "chronicle.yaml", 10, once=True)
    assert_exact(project)


def test_an_epoch_that_some_shards_have_needs_its_plan(group: Project) -> None:
    leave_half_done(group.directory / "chronicle.yaml", 10, shards=[1])
    plans = group.state_dir / "plans.json"
    kept = plans.read_bytes()
    plans.unlink()
    with pytest.raises(ChronicleError, match=r"stand at epochs 4, 5, and the last one planned is 0") as refusal:
        _continue(group)
    assert "cannot be continued exactly" in refusal.value.hint
    plans.write_bytes(kept)
    _continue(group)


def test_lost_plans_do_not_matter_where_every_shard_has_the_same_epochs(group: Project) -> None:
    (group.state_dir / "plans.json").unlink()
    _continue(group)


def test_damaged_plans_are_said_and_nothing_is_guessed(group: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (group.state_dir / "plans.json").write_text('[{"epoch": 5')
    code, said = _run(group, capsys)
    assert (code, "plans.json is damaged" in said) == (1, True)


def test_plans_of_another_time_are_refused(group: Project, capsys: pytest.CaptureFixture[str]) -> None:
    old = (group.state_dir / "plans.json").read_bytes()
    _continue(group)
    (group.state_dir / "plans.json").write_bytes(old)
    code, said = _run(group, capsys)
    assert code == 1
    assert "stand at epochs 6, and the last one planned is 4" in said


def test_a_shard_that_is_restored_alone_is_refused(group: Project, capsys: pytest.CaptureFixture[str]) -> None:
    shard = group.state_dir / "shards" / "01"
    shutil.copytree(shard, group.directory / "old")
    _continue(group)
    shutil.rmtree(shard)
    shutil.copytree(group.directory / "old", shard)
    code, said = _run(group, capsys)
    assert code == 1
    assert "stand at epochs 4, 6" in said
    assert "restore the whole of it" in said


def test_a_state_restored_as_a_whole_catches_up_exactly(group: Project) -> None:
    shutil.copytree(group.state_dir, group.directory / "old")
    _continue(group)
    shutil.rmtree(group.state_dir)
    shutil.copytree(group.directory / "old", group.state_dir)
    _continue(group)


def test_a_second_job_is_refused_and_told_who_is_the_first(group: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with writer_lock(group.state_dir):
        code, said = _run(group, capsys)
    assert code == 1
    assert f"is being written by process {os.getpid()}" in said


def test_another_journal_is_refused(group: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert group.journal_path is not None
    shutil.move(group.journal_path, group.directory / "away")
    with Journal.open(group.journal_path) as journal:
        append(journal, bodies(seed=8), 50)
    code, said = _run(group, capsys)
    assert code == 1
    assert "the journal is not the one that" in said
    shutil.rmtree(group.journal_path)
    shutil.move(group.directory / "away", group.journal_path)
    _continue(group)


def test_appends_that_are_gone_before_any_view_had_them_are_named(
    group: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert group.journal_path is not None
    with Journal.open(group.journal_path) as journal:
        journal.retain(before=1 << 62)
        earliest = journal.earliest_offset()
    assert earliest > 40
    code, said = _run(group, capsys)
    assert code == 1
    assert f"journal-0: offsets 40 to {earliest - 1}" in said
    assert "--state" in said


def test_a_journal_that_lost_appends_which_views_have_is_refused(
    group: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert group.journal_path is not None
    shutil.copytree(group.journal_path, group.directory / "old")
    with Journal.open(group.journal_path) as journal:
        source = bodies(seed=5)
        journal.append([body for _, body in (next(source) for _ in range(5))])
    _continue(group)
    shutil.rmtree(group.journal_path)
    shutil.copytree(group.directory / "old", group.journal_path)
    code, said = _run(group, capsys)
    assert code == 1
    assert "journal-0: offsets 60 to 64" in said


def test_a_view_that_means_something_else_is_refused_by_name(
    group: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    file = group.directory / "chronicle.yaml"
    file.write_text(file.read_text().replace("longest: max(seconds)", "longest: min(seconds)"))
    code, said = _run(group, capsys)
    assert code == 1
    assert "the view totals no longer means what the state" in said


def test_a_view_that_is_new_counts_from_here_on_where_the_past_is_not_retained_and_that_is_said(
    group: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    _continue(group)
    assert group.journal_path is not None
    with Journal.open(group.journal_path) as journal:
        journal.retain(before=1 << 62)
    file = group.directory / "chronicle.yaml"
    file.write_text(file.read_text() + "  kinds: {from: calls, group_by: callee, select: {calls: count(*)}}\n")
    code, said = _run(group, capsys)
    assert code == 0
    assert "kinds" in said
    assert "from here on" in " ".join(said.split())


def test_a_view_that_is_new_gets_the_retained_past(group: Project) -> None:
    file = group.directory / "chronicle.yaml"
    file.write_text(file.read_text() + "  kinds: {from: calls, group_by: callee, select: {calls: count(*)}}\n")
    _continue(Project.load(file))


def test_an_epoch_is_finished_with_the_definition_that_it_was_begun_with(group: Project) -> None:
    file = group.directory / "chronicle.yaml"
    before, after = file.read_text(), file.read_text() + "max_skew: PT3H\n"
    leave_half_done(file, 10, shards=[1])
    file.write_text(after)
    with pytest.raises(ChronicleError, match=r"epoch 5 began with another definition, and 1 of 3 shards") as refusal:
        keep_current(file, 10, once=True)
    assert "put the definition back" in refusal.value.hint
    file.write_text(before)
    _continue(group)


def test_an_epoch_that_no_shard_has_is_planned_anew_with_another_definition(group: Project) -> None:
    file = group.directory / "chronicle.yaml"
    leave_half_done(file, 10, shards=[])
    planned = EpochLog(group.state_dir).latest()
    file.write_text(file.read_text() + "  kinds: {from: calls, group_by: callee, select: {calls: count(*)}}\n")
    _continue(Project.load(file))
    again = EpochLog(group.state_dir).plan(5) or EpochLog(group.state_dir).latest()
    assert planned is not None
    assert again is not None
    assert planned.extra["definition"] != again.extra["definition"]


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_job_continues_exactly_after(group: Project) -> None:
    data = max((group.state_dir / "shards").glob("*/data.mdb"), key=lambda file: file.stat().st_size)
    with forked(run_out_of_disk, group.directory / "chronicle.yaml", data.stat().st_size) as told:
        said = told.recv()
    assert said is not None, "the disk was not full"
    message, hint = said
    assert "shards" in message
    assert message.endswith("is full") or "cannot be written" in message
    assert hint
    _continue(group)
