"""`chronicle explain`: what it shows is what runs, and its exit codes are the contract's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusal_cases import GROUP

from chronicle.cli.main import main

VIEWS = """
  moving: {every: P1D, length: P30D}
views:
  usage:
    from: calls
    join: {customers: caller = number}
    where: kind <> 'internal' and customers.state = 'NJ'
    group_by: [caller]
    select: {n: count(*), spend: sum(amount), mean: "avg(cast(seconds as double))", callees: approx_distinct(callee)}
    period: {calendar: moving, grace: P2D}
    derive: {twice: spend * 2}
  refused: {sql: SELECT caller FROM calls}
"""


@pytest.fixture
def definition(tmp_path: Path) -> str:
    path = tmp_path / "chronicle.yaml"
    path.write_text(GROUP.rstrip("\n") + VIEWS, encoding="utf-8")
    return str(path)


def explain(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["explain", *args])
    return int(ended.value.code or 0)


def test_explain_shows_every_stage(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("usage", "-f", definition) == 0
    shown = capsys.readouterr().out
    for part in (
        "SCA-join",
        "IM-log(R)",
        "log|R|",
        "σ kind <> 'internal'",
        "in force at chronon",
        "panes",
        "key ",
        "plan",
    ):
        assert part in shown
    assert shown.index("customers.state") < shown.index("⋈ customers") < shown.index("σ kind")


def test_explain_json_has_the_numbers(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("usage", "-f", definition, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["class"], said["joins"], said["unions"]) == ("SCA-join", 1, 0)
    assert said["period"]["overlapping"] is True
    assert said["tree"]["operator"] == "GroupBy"


def test_explain_marks_what_is_not_exact(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    explain("usage", "-f", definition, "--json")
    values = {value["column"]: value for value in json.loads(capsys.readouterr().out)["state"]["values"]}
    assert values["spend"]["exact"]
    assert "inexact" in values["mean"]["remark"]
    assert "approximate" in values["callees"]["remark"]


def test_unknown_view_is_exit_4_and_refused_view_exit_3(definition: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("usagee", "-f", definition) == 4
    assert "did you mean 'usage'" in capsys.readouterr().err
    assert explain("refused", "-f", definition) == 3
    assert "CH109" in capsys.readouterr().err
