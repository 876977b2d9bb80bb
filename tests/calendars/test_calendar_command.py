"""`chronicle calendar` as the contract has it: output, errors with their place, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronicle.cli.main import run

MONTHS = '{"every": "P1M", "anchor": "2025-01-31T00:00:00", "zone": "America/New_York"}'
DEFINITION = """\
chronicle: 1
name: telecom
chronicles:
  calls: {columns: {caller: string, at: timestamp}, chronon: at}
relations:
  customers: {key: [number], columns: {number: string, zone: string, since: timestamp}}
calendars:
  month: {every: P1M, zone: America/New_York}
  cycle: {every: P1M, anchor: customers.since, zone: customers.zone}
"""


def test_the_example_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    spec = "{every: P1M, anchor: 2025-01-31T15:00:00Z}"
    assert run(["calendar", spec, "--at", "2025-10-02T00:00:00Z", "--json"]) == 0
    assert capsys.readouterr().out == (
        '{"n": 8, "label": "2025-09-30", "start": "2025-09-30T15:00:00Z", "end": "2025-10-31T15:00:00Z"}\n'
    )


def test_text_shows_local_times_offsets_and_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", MONTHS, "--from", "2025-02-01T00:00:00Z", "--to", "2025-04-01T00:00:00Z"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["0", "2025-01-31", "2025-01-31T00:00:00-05:00", "2025-02-28T00:00:00-05:00", "28", "d"],
        ["1", "2025-02-28", "2025-02-28T00:00:00-05:00", "2025-03-31T00:00:00-04:00", "30", "d", "23", "h"],
        ["2", "2025-03-31", "2025-03-31T00:00:00-04:00", "2025-04-30T00:00:00-04:00", "30", "d"],
    ]


def test_every_period_that_contains_the_instant_is_printed_the_first_to_end_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = "{every: P1D, length: P3D}"
    assert run(["calendar", spec, "--at", "2026-03-17T10:00:00Z", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["label"] for row in rows] == ["2026-03-15/P3D", "2026-03-16/P3D", "2026-03-17/P3D"]


def test_no_period_is_exit_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "{every: P1D, length: PT1H}", "--at", "2026-03-17T10:00:00Z", "--json"]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no period" in captured.err


def test_a_bad_spec_is_shown_with_a_caret_and_a_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "{every: P1M, zone: America/New_Yrok}", "--at", "2026-01-01T00:00:00Z"]) == 2
    message = capsys.readouterr().err
    assert "SPEC:1:20: CH209: unknown zone 'America/New_Yrok'" in message
    assert "did you mean 'America/New_York'?" in message


def test_an_unknown_key_is_shown_at_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "{every: P1M, ankor: 2025-01-31}", "--at", "2026-01-01T00:00:00Z"]) == 2
    message = capsys.readouterr().err
    assert "SPEC:1:14: CH209: unknown key 'ankor'" in message
    assert "did you mean 'anchor'?" in message


@pytest.mark.parametrize("spec", ["", "[1]", "{every: P1M", "{}", "{every: P1M, every: P1D}", "{every: \udcff}"])
def test_what_is_no_calendar_is_a_usage_error(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", spec, "--at", "2026-01-01T00:00:00Z"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--from", "2026-01-01T00:00:00Z"],
        ["--to", "2026-01-01T00:00:00Z"],
        ["--at", "2026-01-01T00:00:00Z", "--from", "2026-01-01T00:00:00Z", "--to", "2027-01-01T00:00:00Z"],
        ["--at", "2026-01-01T00:00:00Z", "--to", "2027-01-01T00:00:00Z"],
        ["--at", "2026-01-01"],
        ["--at", "now"],
        ["--from", "2027-01-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z"],
    ],
)
def test_instants_are_asked_for_in_one_of_two_ways(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "{every: P1M}", *options]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.fixture
def definition(tmp_path: Path) -> str:
    path = tmp_path / "chronicle.yaml"
    path.write_text(DEFINITION)
    return str(path)


def test_a_calendar_is_found_by_its_name(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "month", "-f", definition, "--at", "2026-03-17T10:00:00Z", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == "2026-03"


def test_an_unknown_name_gets_the_nearest(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "mont", "-f", definition, "--at", "2026-03-17T10:00:00Z"]) == 4
    assert "did you mean 'month'?" in capsys.readouterr().err


def test_a_keyed_calendar_says_what_it_is_keyed_by(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calendar", "cycle", "-f", definition, "--at", "2026-03-17T10:00:00Z"]) == 2
    assert "customers.since and customers.zone" in capsys.readouterr().err
