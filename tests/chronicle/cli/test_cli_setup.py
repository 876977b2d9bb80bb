"""Commands for setting up: init, doctor, schema, completion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronicle.appends import decode
from chronicle.cli import init, machine
from chronicle.cli.machine import Status
from chronicle.cli.main import run
from chronicle.definitions import load
from chronicle.errors import ChronicleError
from chronicle.project import Project


@pytest.mark.parametrize("example", init.EXAMPLES)
def test_init_writes_a_definition_without_faults_and_the_data_that_it_names(
    example: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path / "new" / "dir"), "--example", example]) == 0
    printed = capsys.readouterr().out
    directory = tmp_path / "new" / "dir"
    assert load(directory / "chronicle.yaml").all_faults == ()
    for step in init.EXAMPLES[example].steps:
        assert step in printed
        for word in step.split():
            assert not word.endswith(".jsonl") or (directory / word).exists()


@pytest.mark.parametrize("example", init.EXAMPLES)
def test_no_line_of_the_sample_data_is_malformed(example: str, tmp_path: Path) -> None:
    init.copy_example(example, tmp_path)
    definition = Project.load(tmp_path / "chronicle.yaml").definition
    for path in tmp_path.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            body = line if path.stem == "appends" else f'{{"{path.stem}": [{line}]}}'
            decode(body.encode(), (), 0, definition)


def test_init_overwrites_nothing_and_writes_nothing_where_something_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.jsonl").write_text("mine\n")
    assert run(["init", str(tmp_path)]) == 1
    assert "calls.jsonl is there already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["calls.jsonl"]
    assert (tmp_path / "calls.jsonl").read_text() == "mine\n"


def test_init_without_a_directory_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    assert (tmp_path / "chronicle.yaml").exists()


def test_schema_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Chronicle definition"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_prints_a_script_that_names_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_CHRONICLE_COMPLETE" in capsys.readouterr().out


def test_doctor_says_what_it_found_in_json_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(["doctor", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert {finding["name"] for finding in answer["findings"]} >= {"python", "packages", "java", "jars", "definition"}
    assert all(finding["fix"] for finding in answer["findings"] if finding["status"] != "ok")


def test_doctor_counts_the_faults_of_a_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chronicle.yaml"
    file.write_text("chronicle: 1\nnam: x\n")
    assert run(["doctor", "-f", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "has 2 faults" in printed
    assert "chronicle check -f" in printed


def test_a_machine_without_java_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.java().status is Status.FAILED
    assert "install Java 17 or 21" in machine.java().fix
    assert machine.maven().status is Status.OPTIONAL


def test_a_java_home_that_holds_no_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}" in machine.java().found


@pytest.mark.parametrize(
    ("version", "status"), [("11.0.2", "failed"), ("17.0.15", "ok"), ("21", "ok"), ("1.8.0", "failed")]
)
def test_only_a_java_that_spark_runs_on_will_do(
    version: str, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert machine.java().status == status


def test_missing_jars_are_told_and_stop_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHRONICLE_JARS", str(tmp_path))
    assert machine.jars().status is Status.OPTIONAL
    assert "make jars" in machine.jars().fix


def test_a_second_answer_over_kafka_wants_the_connector_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHRONICLE_JARS", str(tmp_path))
    (tmp_path / "chronicle.yaml").write_text(
        'chronicle: 1\nname: g\nsource: {kafka: {servers: "127.0.0.1:1", topics: [calls]}}\n'
        "chronicles: {calls: {columns: {caller: string}}}\n"
    )
    with pytest.raises(ChronicleError, match="connector is missing") as raised:
        machine.spark_jars(Project.load(tmp_path / "chronicle.yaml"))
    assert "make jars" in raised.value.hint


def test_a_state_that_would_lie_under_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert machine.disk("state", tmp_path / "file" / "state").status is Status.FAILED
    assert machine.disk("state", tmp_path / "not" / "yet").status is Status.OK


def test_paths_of_a_project_are_relative_to_its_file_and_a_given_state_to_where_we_are(tmp_path: Path) -> None:
    init.copy_example("flyer", tmp_path)
    file = tmp_path / "chronicle.yaml"
    assert Project.load(file).state_dir == tmp_path / ".chronicle"
    assert Project.load(file).journal_path == tmp_path / "data" / "journal"
    assert Project.load(file, state="elsewhere").state_dir == Path("elsewhere")
