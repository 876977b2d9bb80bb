"""`chronicle check`: one line a view, faults as a compiler prints them, JSON of the contract, exit 3 when refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronicle.cli.init import EXAMPLES, copy_example
from chronicle.cli.main import run

START = "chronicle: 1\nname: n\nchronicles: {calls: {columns: {caller: string, seconds: int64}}}\n"
GOOD = "  good: {from: calls, group_by: caller, select: {n: count(*)}}\n"
REFUSED = "  refused: {sql: 'SELECT caller, median(seconds) AS m FROM calls GROUP BY caller'}\n"
MISTYPED = "  mistyped: {form: calls, group_by: caller}\n"


def written(directory: Path, text: str) -> str:
    path = directory / "chronicle.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_view_of_every_example_is_admitted(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_example(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(["check"]) == 0
    assert all(line.startswith("✓") for line in capsys.readouterr().out.splitlines())


def test_the_json_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, f"{START}wrong: 1\nviews:\n{GOOD}{REFUSED}{MISTYPED}")
    assert run(["check", "-f", file, "--json"]) == 3
    printed = capsys.readouterr()
    assert printed.err == ""
    answer = json.loads(printed.out)
    assert list(answer) == ["views", "errors"]
    assert list(answer["views"]) == ["good", "refused", "mistyped"]
    assert answer["views"]["good"]["class"] == "SCA1"
    assert answer["views"]["good"]["bound"]
    assert answer["views"]["good"]["refusals"] == []
    (refusal,) = answer["views"]["refused"]["refusals"]
    assert list(refusal) == ["code", "file", "line", "column", "what", "why", "fix"]
    assert (refusal["file"], refusal["line"]) == (file, 7)
    assert answer["views"]["refused"]["class"] is None
    assert [fault["code"] for fault in answer["views"]["mistyped"]["refusals"]] == ["CH201"]
    assert [fault["code"] for fault in answer["errors"]] == ["CH201"]


def test_a_refused_view_is_shown_with_line_caret_why_and_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, f"{START}views:\n{GOOD}{REFUSED}")
    assert run(["check", "-f", file]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ good     SCA1")
    assert lines[1] == "✗ refused  refused"
    assert lines[3].startswith(f"{file}:6:34: CH111: 'median'")
    assert lines[5].index("^") == lines[4].index("median")
    assert lines[6].startswith("  why: ")
    assert lines[7] == "  fix:"
    assert lines[-1] == "1 of 2 views refused"


@pytest.mark.parametrize("text", ["", "a: [", "chronicle: 1\n", START.replace("int64", "int")])
def test_a_faulty_definition_is_exit_3_with_its_faults_as_errors(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "--json", "-f", written(tmp_path, text)]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert answer["views"] == {}
    assert answer["errors"]


def test_a_view_is_not_judged_while_what_it_stands_on_is_faulty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, f"{START.replace('int64', 'int')}views:\n{GOOD}")
    assert run(["check", "-f", file]) == 3
    assert "good  not judged" in capsys.readouterr().out


def test_a_definition_without_views_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "-f", written(tmp_path, START)]) == 0
    assert "no views yet" in capsys.readouterr().out


def test_several_files_are_checked_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(f"views:\n{GOOD}")
    assert run(["check", "-f", written(tmp_path, START), "-f", str(more)]) == 0
    assert "good" in capsys.readouterr().out
