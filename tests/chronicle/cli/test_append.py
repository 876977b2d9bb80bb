"""`chronicle append`, `upsert` and `delete`, from the command line to the journal."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chronicle
from chronicle.appends import Malformed, decode, parse_token
from chronicle.cli.main import run
from chronicle.definitions import load
from chronicle.journal import Journal, Record

DEFINITION = """
chronicle: 1
name: telecom
source: {journal: data/journal}
chronicles:
  calls:
    columns: {caller: string, seconds: int64, amount: "decimal(6,2)", at: timestamp, note: string?}
    chronon: at
  payments:
    columns: {caller: string, amount: "decimal(6,2)"}
relations:
  customers:
    key: [number, line]
    columns: {number: string, line: int64, state: string}
"""
GOOD = '{"caller": "c1", "seconds": 60, "amount": "1.50", "at": "2026-03-01T10:00:00Z"}'
BAD = '{"caller": "c1", "seconds": "sixty", "amount": "1.50", "at": "2026-03-01T10:00:00Z"}'


class Project:
    def __init__(self, directory: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capture = capture

    def write(self, name: str, *lines: str) -> str:
        (self.directory / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self._capture.readouterr()
        code = run(arguments)
        said = self._capture.readouterr()
        return code, said.out, said.err

    def journal(self) -> list[Record]:
        with Journal.open(self.directory / "data/journal", create=False) as journal:
            return list(journal.read())

    def fates(self) -> list[str]:
        """What decoding says of every append in the journal."""
        definition = load(self.directory / "chronicle.yaml").definition
        assert definition is not None
        found = []
        for record in self.journal():
            try:
                decode(record.value, record.headers, record.timestamp, definition)
                found.append("good")
            except Malformed as error:
                found.append(error.reason)
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chronicle.yaml").write_text(DEFINITION)
    return Project(tmp_path, capsys)


def test_append_prints_only_the_token_of_the_last_append(project: Project) -> None:
    code, out, _ = project.run("append", "calls", project.write("calls.jsonl", GOOD, "", GOOD))
    assert (code, out) == (0, "journal:1\n")
    assert parse_token(out.strip()).offset == 1
    assert [(record.value, record.headers) for record in project.journal()] == [
        (GOOD.encode(), (("chronicle", b"calls"),))
    ] * 2


def test_bad_lines_are_reported_by_number_and_journalled(project: Project) -> None:
    code, out, err = project.run("append", "calls", project.write("calls.jsonl", GOOD, BAD, "{", GOOD))
    assert (code, out) == (0, "journal:3\n")
    assert 'calls.jsonl:2: seconds: "sixty" is not an int64' in err
    assert "calls.jsonl:3: the body is not JSON" in err
    assert [fate == "good" for fate in project.fates()] == [True, False, False, True]


def test_strict_appends_all_or_nothing(project: Project) -> None:
    code, out, err = project.run("append", "calls", project.write("bad.jsonl", GOOD, BAD), "--strict")
    assert (code, out) == (1, "")
    assert "bad.jsonl:2:" in err
    assert "nothing was appended" in err
    assert project.journal() == []
    code, out, _ = project.run("append", "calls", project.write("good.jsonl", GOOD, GOOD), "--strict")
    assert (code, out) == (0, "journal:1\n")


def test_json_is_all_that_stdout_has(project: Project) -> None:
    path = project.write("calls.jsonl", GOOD, BAD)
    code, out, _ = project.run("append", "calls", path, "--json")
    reason = 'seconds: "sixty" is not an int64'
    expected: dict[str, Any] = {"token": "journal:1", "appended": 2, "malformed": 1}
    assert (code, json.loads(out)) == (0, {**expected, "bad_lines": [{"line": 2, "reason": reason}]})
    code, out, _ = project.run("append", "calls", path, "--json", "--strict")
    assert (code, json.loads(out)["token"]) == (1, None)


def test_csv_is_known_by_its_name_and_typed_by_the_definition(project: Project) -> None:
    rows = ("at,caller,seconds,amount,note", "2026-03-01T10:00:00Z,c1,60,1.50,", "2026-03-01T10:00:00Z,c1,x,1.50,hm")
    code, out, err = project.run("append", "calls", project.write("calls.csv", *rows))
    assert (code, out) == (0, "journal:1\n")
    assert 'calls.csv:3: seconds: "x" is not an int64' in err
    assert json.loads(project.journal()[0].value or b"") == {
        "at": "2026-03-01T10:00:00Z",
        "caller": "c1",
        "seconds": 60,
        "amount": "1.50",
        "note": None,
    }
    code, out, _ = project.run("append", "calls", project.write("rows.txt", *rows), "--format", "csv")
    assert (code, out) == (0, "journal:3\n")


def test_a_csv_header_without_the_columns_appends_nothing(project: Project) -> None:
    code, _, err = project.run("append", "calls", project.write("calls.csv", "caller,seconds", "c1,60"))
    assert code == 1
    assert "lacks amount, at" in err


def test_an_envelope_line_is_one_append(project: Project) -> None:
    envelope = json.dumps({"calls": [json.loads(GOOD)] * 2, "customers": [{"number": "c1", "line": 1, "state": "NJ"}]})
    single = '{"_chronicle": "payments", "caller": "c1", "amount": 5}'
    nameless = '{"caller": "c1", "amount": 5}'
    code, out, err = project.run("append", "--envelope", project.write("bodies.jsonl", envelope, single, nameless))
    assert (code, out) == (0, "journal:2\n")
    assert "bodies.jsonl:3: the message names no chronicle" in err
    assert project.fates()[:2] == ["good", "good"]


def test_upsert_appends_each_change_on_its_own(project: Project) -> None:
    lines = (
        '{"number": "c1", "line": 1, "state": "NJ"}',
        '{"_op": "delete", "number": "c1", "line": 1}',
        '{"line": 2}',
    )
    code, out, err = project.run("upsert", "customers", project.write("changes.jsonl", *lines))
    assert (code, out) == (0, "journal:2\n")
    assert "changes.jsonl:3: number: missing" in err
    rows = ("number,line,state,_from", "c2,1,NY,2026-03-01T00:00:00Z", "c3,1,NY,")
    code, out, _ = project.run("upsert", "customers", project.write("changes.csv", *rows), "--strict")
    assert (code, out) == (0, "journal:4\n")
    assert project.fates()[-2:] == ["good", "good"]


def test_delete_appends_the_key_and_from_when_on(project: Project) -> None:
    code, out, _ = project.run("delete", "customers", "line=1", "number=c1=x", "--from", "2026-04-01T00:00:00Z")
    assert (code, out) == (0, "journal:0\n")
    definition = load(project.directory / "chronicle.yaml").definition
    assert definition is not None
    record = project.journal()[0]
    (change,) = decode(record.value, record.headers, record.timestamp, definition).changes
    assert (change.op, change.row) == ("delete", {"number": "c1=x", "line": 1})
    assert change.valid_from == 1_775_001_600_000_000
    assert project.run("delete", "customers", "number=c1", "line=1", "--json")[1] == '{"token": "journal:1"}\n'


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["append"], 2, "missing argument CHRONICLE"),
        (["append", "calls", "nope.jsonl"], 2, "'nope.jsonl' does not exist"),
        (["append", "calls", "chronicle.yaml", "more"], 2, "unexpected argument 'more'"),
        (["append", "--envelope", "chronicle.yaml", "--format", "csv"], 2, "CSV cannot hold an envelope"),
        (["append", "cals", "chronicle.yaml"], 4, "did you mean 'calls'?"),
        (["append", "customers", "chronicle.yaml"], 2, "chronicle upsert customers"),
        (["upsert", "calls", "chronicle.yaml"], 2, "chronicle append calls"),
        (["upsert", "customer", "chronicle.yaml"], 4, "did you mean 'customers'?"),
        (["delete", "customers"], 2, "KEY=VALUE"),
        (["delete", "customers", "number"], 2, "'number' is not KEY=VALUE"),
        (["delete", "customers", "number=c1"], 2, "missing: line"),
        (["delete", "customers", "number=c1", "line=x"], 2, 'line: "x" is not an int64'),
        (["delete", "customers", "number=c1", "line=1", "state=NJ"], 2, "'state' is no key column"),
        (["delete", "customers", "number=c1", "line=1", "--from", "2026-04-01"], 2, "--from: "),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(project: Project, arguments: list[str], code: int, said: str) -> None:
    found, out, err = project.run(*arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert not (project.directory / "data").exists()


def test_a_faulty_view_keeps_nobody_from_appending(project: Project) -> None:
    faulty = DEFINITION + "views: {usage: {from: calls, selekt: {n: count(*)}}}\n"
    (project.directory / "chronicle.yaml").write_text(faulty)
    assert project.run("append", "calls", project.write("calls.jsonl", GOOD))[:2] == (0, "journal:0\n")


def test_nothing_to_append_is_done_at_once(project: Project) -> None:
    code, out, err = project.run("append", "calls", project.write("empty.jsonl"))
    assert (code, out, err) == (0, "", "nothing to append\n")
    assert json.loads(project.run("append", "calls", "empty.jsonl", "--json")[1])["token"] is None


@pytest.mark.slow
def test_a_pipe_is_appended_as_it_trickles_in(project: Project) -> None:
    command = [sys.executable, "-m", "chronicle.cli.main", "append", "calls"]
    here = {**os.environ, "PYTHONPATH": str(Path(chronicle.__file__).parents[1])}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=here)
    assert process.stdin is not None
    with Journal.open(project.directory / "data/journal") as journal:
        for offset in range(3):
            process.stdin.write(GOOD + "\n")
            process.stdin.flush()
            assert journal.wait(offset, timeout=60)
    process.stdin.write(GOOD)
    out, _ = process.communicate()
    assert (process.returncode, out) == (0, "journal:3\n")


@pytest.mark.parametrize(
    ("name", "pack"), [("calls.jsonl", gzip.compress), ("calls.csv", bz2.compress), ("c", lzma.compress)]
)
def test_compressed_lines_are_told_and_never_journalled(
    project: Project, name: str, pack: Callable[[bytes], bytes]
) -> None:
    Path(name).write_bytes(pack(GOOD.encode()))
    code, out, err = project.run("append", "calls", name)
    assert (code, out) == (1, "")
    assert "is compressed" in err
    assert project.journal() == []


def test_a_cell_may_be_as_long_as_a_json_text(project: Project) -> None:
    note = "x" * 200_000
    rows = ("at,caller,seconds,amount,note", f"2026-03-01T10:00:00Z,c1,60,1.50,{note}")
    assert project.run("append", "calls", project.write("calls.csv", *rows))[0] == 0
    assert json.loads(project.journal()[0].value or b"")["note"] == note


@pytest.mark.parametrize("arguments", [["number=\udcff", "line=1"], ["number=a", "line=1", "--from", "\udcff"]])
def test_bytes_on_the_command_line_that_are_no_text_are_a_wrong_key(project: Project, arguments: list[str]) -> None:
    code, out, err = project.run("delete", "customers", *arguments)
    assert (code, out) == (2, "")
    assert "is not UTF-8" in err
    assert not Path("data/journal").exists()
