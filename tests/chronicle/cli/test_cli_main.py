"""The command as a whole: quick to start, honest about failures, and never a traceback."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from chronicle import __version__
from chronicle.cli import main, output
from chronicle.errors import ChronicleError, DefinitionError, Fault, NotFoundError, Place, UsageError

HEAVY = ("duckdb", "pyarrow", "numpy", "pandas", "pydantic", "sqlglot", "yaml", "lmdb", "fastapi", "rich", "pyspark")


def in_a_new_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_nothing_heavy_is_imported_before_a_command_runs(arguments: list[str]) -> None:
    done = in_a_new_process(
        f"import sys; from chronicle.cli.main import run; code = run({arguments}); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_importing_the_library_imports_nothing_heavy() -> None:
    done = in_a_new_process(f"import sys, chronicle; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout.strip() == "[]"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"chronicle {__version__}\n"


def test_every_command_that_is_listed_exists_and_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    listed = capsys.readouterr().out
    for name in main.cli.list_commands(click.Context(main.cli)):
        assert f"  {name} " in listed
        assert main.run([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: chronicle {name}")


def test_the_help_of_every_command_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"dev": ["kafka"], "topics": ["create", "list"]}
    names = [name for name in main.cli.list_commands(click.Context(main.cli)) if name not in groups]
    for name in [*names, *(f"{group} {part}" for group, parts in groups.items() for part in parts)]:
        assert main.run([*name.split(), "--help"]) == 0
        examples = capsys.readouterr().out.partition("\n\n")[2].partition("Options:")[0]
        assert f"chronicle {name}" in examples, name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chek"], "there is no command 'chek'; did you mean 'check'?"),
        (["check", "--jsn"], "--jsn"),
        (["schema", "extra"], "extra"),
        (["init", "--example", "telecon"], "telecom"),
        (["check", "-f", "nowhere.yaml"], "there is no definition file 'nowhere.yaml'"),
    ],
)
def test_a_wrong_command_line_is_exit_2_with_the_reason_on_stderr(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ChronicleError("the disk is full", "make room"), 1, "error: the disk is full\n  make room\n"),
        (UsageError("no such thing"), 2, "error: no such thing\n"),
        (NotFoundError("no row"), 4, "error: no row\n"),
        (PermissionError(13, "Permission denied", "data/journal"), 1, "error: data/journal: Permission denied\n"),
        (KeyboardInterrupt(), 130, "stopped\n"),
    ],
)
def test_an_error_becomes_a_message_and_its_exit_code(
    error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main.cli, "main", failing_with(error))
    assert main.run([]) == code
    assert capsys.readouterr().err == says


def test_a_bug_is_a_message_and_not_a_traceback_unless_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main.cli, "main", failing_with(ZeroDivisionError("division by zero")))
    monkeypatch.delenv("CHRONICLE_TRACEBACK", raising=False)
    assert main.run([]) == 1
    printed = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in printed
    assert "Traceback" not in printed
    monkeypatch.setenv("CHRONICLE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main.run([])


def failing_with(error: BaseException):  # type: ignore[no-untyped-def]
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_definition_with_faults_is_exit_3_and_every_fault_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Fault("CH201", "first"), Fault("CH202", "second")]
    monkeypatch.setattr(main.cli, "main", failing_with(DefinitionError(found)))
    assert main.run([]) == 3
    assert capsys.readouterr().err == "CH201: first\nCH202: second\n"


def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "chronicle.cli.main", "schema"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_fault_is_printed_as_a_compiler_would() -> None:
    place = Place("chronicle.yaml", 12, 7, "  m: {evry: P1M}")
    fault = Fault("CH201", "unknown key 'evry'", "the keys here are every", "write\n  every: P1M\n", place)
    assert click.unstyle(output.fault_text(fault)) == (
        "chronicle.yaml:12:7: CH201: unknown key 'evry'\n"
        "   12 |   m: {evry: P1M}\n"
        "      |       ^\n"
        "  why: the keys here are every\n"
        "  fix:\n"
        "        write\n"
        "          every: P1M"
    )


@pytest.mark.parametrize("url", ["hdfs://name/state", "gs://bucket/state", "s3://", "s3://bucket/state?region=x"])
def test_a_state_at_a_url_that_is_not_known_is_refused_instead_of_becoming_a_directory_of_that_name(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["init", str(tmp_path), "--example", "bank"]) == 0
    assert main.run(["status", "-f", str(tmp_path / "chronicle.yaml"), "--state", url]) == 2
    assert "give a path, s3://BUCKET/PREFIX or s3a://BUCKET/PREFIX" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
def test_colour_is_for_terminals_that_have_it_and_people_who_want_it(
    environment: dict[str, str], coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("TERM", "NO_COLOR")}
    command = [sys.executable, "-m", "chronicle.cli.main", "check", "-f", "nowhere.yaml"]
    subprocess.run(command, stderr=theirs, env=kept | environment, check=False)
    os.close(theirs)
    said = os.read(ours, 4096)
    os.close(ours)
    assert b"nowhere.yaml" in said
    assert (b"\x1b" in said) == coloured
