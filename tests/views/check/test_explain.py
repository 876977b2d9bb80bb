"""`chronicle explain`: what it shows is what runs, and its exit codes are the contract's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from generators.delta import RecordsJob
from refusal_cases import GROUP

from chronicle.cli.main import main
from chronicle.project import Project
from streaming.run import plan_of
from views.reference import Record
from views.state import State
from views.state.held import HELD_BELOW

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


JOINING = """
chronicle: 1
name: telecom
shards: 2
chronicles:
  calls: {columns: {caller: string, seconds: int64, at: timestamp}, chronon: at}
relations:
  customers: {key: number, columns: {number: string, plan: string}}
views:
  plans: {from: calls, join: {customers: caller = number}, group_by: plan, select: {calls: count(*)}}
  totals: {from: calls, group_by: caller, select: {calls: count(*)}}
"""

EVERYWHERE = """\
versions of customers, before each epoch
  on one machine: looked up in the state's own index
  on a cluster: sent to the workers while those of all relations take less than 8.0 MB;
                above, each machine follows the state into an index of its own
"""


@pytest.fixture
def joining(tmp_path: Path) -> Project:
    path = tmp_path / "chronicle.yaml"
    path.write_text(JOINING, encoding="utf-8")
    return Project.load(path)


def _customers(number: int, count: int, width: int) -> Record:
    people = [{"number": f"c{each}", "plan": "p" * width, "_from": "2026-03-01T00:00:00Z"} for each in range(count)]
    return Record(0, number, 1_772_300_000_000_000, None, (), json.dumps({"customers": people}).encode())


def _of_versions(view: str, project: Project, capsys: pytest.CaptureFixture[str]) -> str:
    """What explain says of the versions that the view joins."""
    assert explain(view, "-f", str(project.directory / "chronicle.yaml")) == 0
    sections = capsys.readouterr().out.split("\n\n")
    return "".join(f"{section}\n" for section in sections if section.startswith("versions"))


def test_explain_says_how_versions_reach_the_map(joining: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert _of_versions("plans", joining, capsys) == EVERYWHERE
    assert _of_versions("totals", joining, capsys) == ""


def test_of_an_embedded_state_explain_says_what_its_versions_take(
    joining: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(joining)
    layouts = plan.view_layouts, plan.relation_layouts
    state = State.prepare(
        joining.state_dir, "telecom", *layouts, shards=2, tzdata="test", topics={"journal": 1}, map_size=1 << 24
    )
    now = "  now 0 kB: looked up in the index of this embedded state\n"
    assert _of_versions("plans", joining, capsys) == EVERYWHERE + now
    state.close()


def test_of_a_delta_state_explain_says_whether_versions_are_sent_or_followed_now(
    joining: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    job = RecordsJob(joining, [_customers(0, 3, 10), _customers(1, 3_000, 3_000)])
    job.epoch(0, 1)
    sent = "  now 8 kB: sent, where the job runs on a cluster\n"
    assert _of_versions("plans", joining, capsys) == EVERYWHERE + sent
    job.epoch(1, 2)
    size = job.state.version_bytes
    assert size > HELD_BELOW
    followed = f"  now {size / 1_000_000:.1f} MB: followed, where the job runs on a cluster\n"
    assert _of_versions("plans", joining, capsys) == EVERYWHERE + followed
    explain("plans", "-f", str(joining.directory / "chronicle.yaml"), "--json")
    said = json.loads(capsys.readouterr().out)["versions"]
    assert said == {"sent_below": HELD_BELOW, "bytes": size, "now": "followed"}
    job.state.close()


def test_a_state_that_cannot_be_read_is_a_warning_and_no_failure(
    joining: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    joining.state_dir.mkdir()
    (joining.state_dir / "meta.json").write_text("{")
    assert explain("plans", "-f", str(joining.directory / "chronicle.yaml")) == 0
    said = capsys.readouterr()
    assert EVERYWHERE in said.out
    assert "warning: what the versions take now is not known" in said.err
