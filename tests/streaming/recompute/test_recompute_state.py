"""`chronicle recompute` on a state that the real kernels made from a real journal: what agrees, and what does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from generators.kernels import run_kernels

from calendars import parse_instant
from chronicle.cli.main import run
from chronicle.errors import NotFoundError
from chronicle.journal import Journal, Record
from chronicle.project import Project
from views.lookup import UnknownViewError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GROUP = """
chronicle: 1
name: telecom
chronicles:
  calls: {columns: {caller: string, seconds: int64, load: double?, at: timestamp}, chronon: at}
relations:
  customers: {key: number, columns: {number: string, state: string}}
calendars: {month: {every: P1M}, moving3: {every: P1D, length: P3D}}
views:
  totals: {from: calls, group_by: caller, select: {calls: count(*), load: avg(load)}, derive: {twice: load * 2}}
  usage: {from: calls, group_by: caller, select: {seconds: sum(seconds)}, period: {calendar: month}}
  moving: {from: calls, group_by: caller, select: {seconds: sum(seconds)}, period: {calendar: moving3}}
  by_state:
    from: calls
    join: {customers: caller = number}
    group_by: customers.state
    select: {seconds: sum(seconds)}
"""


def _call(caller: str, seconds: int, day: str) -> dict[str, Any]:
    return {"_chronicle": "calls", "caller": caller, "seconds": seconds, "load": seconds / 7, "at": f"{day}T08:00:00Z"}


MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("2026-01-01", {"customers": [{"number": "c1", "state": "NJ", "_from": "2026-01-01T00:00:00Z"}]}),
    ("2026-01-30", _call("c1", 60, "2026-01-30")),
    ("2026-02-01", _call("c1", 7, "2026-02-01")),
    ("2026-02-02", _call("c2", 30, "2026-02-02")),
    ("2026-02-03", _call("c1", 5, "2026-01-31")),  # late for January
    ("2026-02-04", {"_chronicle": "calls", "caller": "c1"}),  # malformed
    ("2026-03-01", _call("c2", 1, "2026-03-01")),
    ("2026-04-02", _call("c1", 4, "2026-04-02")),
]


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """A project with a journal of MESSAGES; `fold` makes the state from records that may be other ones."""

    directory: Path
    ask: Callable[..., Answer]

    @property
    def journal(self) -> Path:
        return self.directory / "data" / "journal"

    def records(self) -> list[Record]:
        with Journal.open(self.journal) as journal:
            return list(journal.read())

    def fold(self, records: Sequence[Any]) -> None:
        run_kernels(Project.load(self.directory / "chronicle.yaml"), records, {3}, shards=2).state.close()


@pytest.fixture
def group(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Group:
    (tmp_path / "chronicle.yaml").write_text(GROUP)
    with Journal.open(tmp_path / "data" / "journal", segment_bytes=400) as journal:
        for day, body in MESSAGES:
            journal.append([json.dumps(body).encode()], timestamp=parse_instant(f"{day}T12:00:00Z"))

    def ask(*arguments: str) -> Answer:
        code = run(["recompute", "-f", str(tmp_path / "chronicle.yaml"), *arguments])
        return Answer(code, capsys.readouterr().out)

    return Group(tmp_path, ask)


def _changed(record: Record, before: bytes, after: bytes) -> Record:
    assert record.value is not None
    return replace(record, value=record.value.replace(before, after))


def test_a_state_that_the_kernels_made_agrees_row_by_row(group: Group) -> None:
    group.fold(group.records())
    answer = group.ask("--json")
    assert answer.code == 0, answer.out
    assert answer.json["agrees"]
    assert {name: view["rows"] for name, view in answer.json["views"].items()} == {
        "totals": 2, "usage": 5, "moving": 14, "by_state": 1
    }  # fmt: skip


def test_a_row_that_differs_is_printed_with_both_values_and_exits_1(group: Group) -> None:
    records = group.records()
    records[3] = _changed(records[3], b'"seconds": 30', b'"seconds": 31')
    group.fold(records)
    answer = group.ask("usage")
    assert answer.code == 1
    assert "caller=c2 [2026-02-01T00:00:00Z, 2026-03-01T00:00:00Z): seconds is 31, in the batch 30" in answer.out
    assert group.ask("by_state").code == 0


def test_rows_on_one_side_only_are_missing_or_extra(group: Group) -> None:
    records = group.records()
    records[2] = _changed(records[2], b'"c1"', b'"c9"')
    group.fold(records)
    usage = group.ask("--json", "usage").json["views"]["usage"]
    assert {(each["kind"], each["key"]["caller"]) for each in usage["differences"]} == {
        ("missing", "c1"), ("extra", "c9")
    }  # fmt: skip
    assert usage["different"] == 2


def test_the_ledger_is_compared_with_the_fates(group: Group) -> None:
    records = group.records()
    records[5] = _changed(records[5], b'"c1"', b'"c1", "seconds": 0, "at": "2026-02-01T00:00:00Z"')
    group.fold(records)
    fates = group.ask("--json").json["fates"]
    assert fates == {"late": {"ledger": 2, "batch": 1}, "malformed": {"ledger": 0, "batch": 1}}


def test_appends_after_the_last_epoch_are_left_out(group: Group) -> None:
    group.fold(group.records()[:6])
    answer = group.ask("--json")
    assert answer.code == 0, answer.out
    assert answer.json["appends"] == 6


def test_what_is_no_longer_retained_is_said_and_the_rest_is_compared(group: Group) -> None:
    group.fold(group.records())
    with Journal.open(group.journal) as journal:
        journal.retain(parse_instant("2026-02-02T00:00:00Z"))
        first = journal.earliest_offset()
    assert 0 < first < 6
    answer = group.ask("--json")
    assert answer.code == 1
    views = answer.json["views"]
    assert views["totals"]["skipped"].startswith(f"appends 0 to {first - 1} are no longer retained")
    assert "versions of customers" in views["by_state"]["skipped"]
    assert views["usage"]["agrees"]
    assert views["usage"]["rows"] == 2
    assert "only periods that start after 2026-" in views["usage"]["note"]


def test_a_view_that_was_added_later_is_compared_from_there_on(group: Group) -> None:
    records = group.records()
    group.fold(records)
    meta = group.directory / ".chronicle" / "meta.json"
    stated = json.loads(meta.read_bytes())
    stated["views"]["totals"]["since"] = {"0": 3}
    meta.write_text(json.dumps(stated))
    totals = group.ask("--json", "totals").json["views"]["totals"]
    (found,) = totals["differences"]  # the state has all of c1's calls, the batch those from append 3 on
    assert found["key"] == {"caller": "c1"}
    assert found["columns"]["calls"] == {"view": 4, "batch": 2}


def test_a_state_of_another_journal_is_refused(group: Group, capsys: pytest.CaptureFixture[str]) -> None:
    records = group.records()
    group.fold([*records, replace(records[-1], offset=len(records))])
    code = run(["recompute", "-f", str(group.directory / "chronicle.yaml")])
    assert code == 1
    assert "was not made from the journal" in capsys.readouterr().err


@pytest.mark.parametrize(("view", "code"), [("usage", NotFoundError.exit_code), ("usag", UnknownViewError.exit_code)])
def test_without_a_state_or_a_view_nothing_is_started(group: Group, view: str, code: int) -> None:
    assert group.ask(view).code == code
