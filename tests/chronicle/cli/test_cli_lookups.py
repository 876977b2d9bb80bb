"""`get`, `scan`, `ledger` and `status` by the contract (§3): shapes, forms and exit codes, never a traceback."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chronicle.cli.main import run
from chronicle.journal import Journal
from tests.views.http.http_cases import MARCH, filled
from tests.views.lookup.lookup_cases import DEFINITION, Calls, project_in
from views.state import Quarantined

VALUES = {"calls": 1, "seconds": 4120, "spend": "31.40", "minutes": "68.7", "discount": "6.28", "due": "25.12"}
HEADER = "caller,period,period_start,period_end,period_state,calls,seconds,spend,minutes,discount,due"


class Shell:
    """Runs commands in the project's directory."""

    def __init__(self, calls: Calls, capture: pytest.CaptureFixture[str]) -> None:
        self.calls = calls
        self._capture = capture

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._capture.readouterr()
        code = run(arguments)
        said = self._capture.readouterr()
        assert "Traceback" not in said.err
        assert "should not happen" not in said.err, said.err
        return code, said.out, said.err

    def json(self, *arguments: str) -> Any:
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        assert out.count("\n") == 1
        return json.loads(out)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(filled(Calls(project_in(tmp_path))), capsys)


def test_get_prints_the_row_in_the_shape_of_the_contract(shell: Shell) -> None:
    row = shell.json("get", "usage", "caller=c1")
    assert isinstance(row["as_of"].pop("age_ms"), int)
    assert row == {
        "view": "usage",
        "key": {"caller": "c1"},
        "period": {
            "label": "2026-03",
            "start": "2026-03-01T00:00:00Z",
            "end": "2026-04-01T00:00:00Z",
            "state": "open",
        },
        "values": VALUES,
        "as_of": {"clock": MARCH, "offsets": {"journal": {"0": 7}}},
    }


def test_get_chooses_a_period_by_instant_label_or_all(shell: Shell) -> None:
    assert shell.json("get", "usage", "caller=c1", "--at", "2026-02-01T00:00:00Z")["values"]["spend"] == "15.00"
    assert shell.json("get", "usage", "caller=c1", "--period", "2026-01")["values"]["spend"] == "5.00"
    rows = shell.json("get", "usage", "caller=c1", "--all")["rows"]
    assert [row["period"]["state"] for row in rows] == ["closed", "closed", "open"]
    assert shell.json("get", "totals", "caller=c1")["period"] is None
    assert shell.json("get", "everyone")["key"] == {}
    assert shell.json("get", "moving", "caller=c1")["period"]["label"] == "2026-03-15/P3D"
    assert shell.json("get", "cycles", "caller=c1")["period"]["label"] == "2026-03-10"


def test_a_keys_value_may_hold_equal_signs_and_any_text(shell: Shell) -> None:
    assert shell.json("get", "usage", "caller=a=b & ü/☎")["key"] == {"caller": "a=b & ü/☎"}


def test_get_for_people_has_a_line_a_column(shell: Shell) -> None:
    code, out, _ = shell("get", "usage", "caller=c1")
    assert code == 0
    assert out.splitlines()[:3] == [
        "usage caller=c1",
        "  period    2026-03  [2026-03-01T00:00:00Z, 2026-04-01T00:00:00Z)  open",
        "  calls     1",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["usage", "caller=nobody"], 4, "view usage has no row for caller=nobody"),
        (["usage", "caller=c1", "--period", "2025-01"], 4, "the period 2025-01 of view usage is expired"),
        (["usage", "caller=c1", "--period", "2026-07"], 4, "no row for caller=c1 in period 2026-07"),
        (["usage", "caller=nobody", "--all"], 4, "no row"),
        (["usag", "caller=c1"], 4, "there is no view 'usag'; did you mean 'usage'?"),
        (["usage"], 2, "the key of view usage needs caller"),
        (["usage", "c1"], 2, "'c1' is not key=value"),
        (["usage", "=c1"], 2, "is not key=value"),
        (["usage", "caller=c1", "caller=c2"], 2, "given twice"),
        (["usage", "calller=c1"], 2, "did you mean 'caller'"),
        (["usage", "caller=c1", "--period", "March"], 2, "March"),
        (["usage", "caller=c1", "--at", "now"], 2, "now"),
        (["usage", "caller=c1", "--all", "--at", MARCH], 2, "give one of --at, --period and --all"),
        (["totals", "caller=c1", "--at", MARCH], 2, "view totals has no periods"),
        (["usage", "caller=c1", "--after", "soon"], 2, "is not a token"),
        (["usage", "caller=c1", "--after", "journal:99", "--wait", "10ms"], 1, "is not in the views yet"),
        (["usage", "caller=c1", "--wait", "-1s"], 2, "is not a time to wait"),
        (["usage", "caller=\udcff"], 2, "is no string"),
        (["usage", "caller=c1", "--state", "nowhere"], 4, "there is no state at nowhere"),
        (["usage", "caller=c1", "-f", "none.yaml"], 2, "none.yaml"),
        (["usage", "caller=c1", "--local", "nowhere"], 4, "there is no index at nowhere"),
    ],
)
def test_a_lookup_that_has_no_answer_says_why_with_its_exit_code(
    shell: Shell, arguments: list[str], code: int, said: str
) -> None:
    for form in ([], ["--json"]):
        got, out, err = shell("get", *arguments, *form)
        assert (got, out) == (code, "")
        assert said in err


def test_get_after_a_token_answers_once_it_is_reflected(shell: Shell) -> None:
    assert shell.json("get", "usage", "caller=c1", "--after", "journal:6", "--wait", "0s")["values"] == VALUES


def test_get_after_a_token_waits_for_the_state_of_a_job_that_is_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = project_in(tmp_path)
    codes: list[int] = []
    arguments = ["get", "totals", "caller=c1", "--after", "journal:0", "--wait", "60s"]
    waiting = threading.Thread(target=lambda: codes.append(run(arguments)))
    waiting.start()
    Calls(project).call("c1", MARCH).commit()
    waiting.join(60)
    assert codes == [0]


def test_scan_as_json_lines_has_a_row_a_line_without_as_of(shell: Shell) -> None:
    code, out, _ = shell("scan", "usage", "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(row["period"]["label"], row["key"]["caller"]) for row in rows] == [
        ("2026-01", "c1"), ("2026-02", "c1"), ("2026-03", "a=b & ü/☎"), ("2026-03", "c1"),
    ]  # fmt: skip
    assert rows[-1] == {
        "view": "usage", "key": {"caller": "c1"}, "period": rows[-1]["period"], "values": VALUES,
    }  # fmt: skip
    assert shell("scan", "usage", "--json")[1] == out


def test_scan_as_csv_has_a_header_and_exact_decimals(shell: Shell) -> None:
    _, out, _ = shell("scan", "usage", "--format", "csv", "--period", "2026-03")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert out.splitlines()[0] == HEADER
    assert [(row["caller"], row["due"]) for row in rows] == [("a=b & ü/☎", "0.00"), ("c1", "25.12")]


def test_get_all_shows_people_the_periods_one_below_another(shell: Shell) -> None:
    code, out, _ = shell("get", "usage", "caller=c1", "--all")
    header, _, *rows, as_of = out.splitlines()
    assert code == 0
    assert header.split() == HEADER.split(",")
    assert [row.split()[1] for row in rows] == ["2026-01", "2026-02", "2026-03"]
    assert {len(row) for row in rows} == {len(header)}  # numbers end where their heading does
    assert as_of.startswith("as of ")


def test_scan_as_a_table_has_aligned_columns(shell: Shell) -> None:
    _, out, _ = shell("scan", "totals")
    assert [line.split() for line in out.splitlines()] == [
        ["caller", "calls", "seconds"],
        ["-" * 9, "-" * 5, "-" * 7],
        ["a=b", "&", "ü/☎", "1", "7"],
        ["c1", "3", "4300"],
    ]


@pytest.mark.slow
def test_scan_as_parquet_keeps_types_in_a_file_and_through_a_pipe(shell: Shell, tmp_path: Path) -> None:
    assert shell("scan", "usage", "--format", "parquet", "-o", "usage.parquet")[0] == 0
    table = pq.read_table(tmp_path / "usage.parquet")
    assert table.schema.names == HEADER.split(",")
    assert str(table.schema.field("spend").type).startswith("decimal128")
    assert str(table.schema.field("period_start").type) == "timestamp[us, tz=UTC]"
    assert table.to_pylist()[-1]["spend"] == Decimal("31.40")
    command = [sys.executable, "-m", "chronicle.cli.main", "scan", "usage", "--format", "parquet"]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    assert pq.read_table(io.BytesIO(piped)).equals(table)


def test_scan_of_a_view_without_rows_is_empty_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(Calls(project_in(tmp_path)).commit(), capsys)
    assert shell("scan", "usage", "--format", "jsonl") == (0, "", "")
    assert shell("scan", "usage", "--format", "csv") == (0, f"{HEADER}\n", "")
    assert shell("scan", "cycles", "--format", "jsonl") == (0, "", "")
    assert shell("scan", "usage", "--format", "parquet", "-o", "none.parquet")[0] == 0
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
    assert shell("get", "usage", "caller=c1")[0] == 4


def test_columns_stand_under_their_names_whatever_the_order_of_select(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sql = "SELECT sum(seconds) AS total, seconds, caller, count(*) AS n FROM calls GROUP BY caller, seconds"
    calls = (
        Calls(project_in(tmp_path, f"{DEFINITION}  by: {{sql: '{sql}'}}\n"))
        .call("c1", MARCH, seconds=60)
        .call("c1", MARCH, seconds=60)
    )
    shell = Shell(calls.commit(), capsys)
    expected = {"caller": "c1", "seconds": 60, "total": 120, "n": 2}
    row = json.loads(shell("scan", "by", "--json")[1])
    assert {**row["key"], **row["values"]} == expected
    texts = {name: str(value) for name, value in expected.items()}
    assert list(csv.DictReader(io.StringIO(shell("scan", "by", "--format", "csv")[1]))) == [texts]
    shell("scan", "by", "--format", "parquet", "-o", "by.parquet")
    assert pq.read_table(tmp_path / "by.parquet").to_pylist() == [expected]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["usag"], 4, "there is no view 'usag'"),
        (["usage", "--period", "March"], 2, "March"),
        (["usage", "--period", "2025-01"], 4, "is expired"),
        (["totals", "--period", "2026-03"], 2, "has no periods"),
        (["usage", "--format", "xml"], 2, "xml"),
        (["usage", "--json", "--format", "csv"], 2, "contradict"),
        (["usage", "--limit", "-1"], 2, "-1"),
        (["usage", "-o", "no/such/directory/file"], 1, "no/such/directory/file"),
        (["usage", "--state", "nowhere"], 4, "there is no state"),
    ],
)
def test_a_scan_that_cannot_be_says_why_before_it_writes_anything(
    shell: Shell, arguments: list[str], code: int, said: str
) -> None:
    got, out, err = shell("scan", *arguments)
    assert (got, out) == (code, "")
    assert said in err


def test_the_ledger_has_counts_and_the_quarantine(shell: Shell) -> None:
    ledger = shell.json("ledger")
    assert ledger == {
        "fates": {"applied": 5, "duplicate": 0, "late": 1, "future": 0, "retroactive": 0, "malformed": 1},
        "quarantine": [
            {"sn": 10 << 12, "fate": "late", "reason": "the period 2026-01 is closed", "body": "{}", "view": "usage"},
            {"sn": 9 << 12, "fate": "malformed", "reason": "seconds: missing", "body": '{"caller": "ü"}', "view": None},
        ],
    }
    assert [each["fate"] for each in shell.json("ledger", "--fate", "late")["quarantine"]] == ["late"]
    assert len(shell.json("ledger", "--limit", "1")["quarantine"]) == 1
    assert shell("ledger", "--fate", "lost")[0] == 2
    assert shell("ledger", "--state", "nowhere")[0] == 4
    code, out, _ = shell("ledger")
    assert code == 0
    assert "late by view usage: the period 2026-01 is closed" in out


def test_status_has_epoch_clock_lag_offsets_rows_and_periods(shell: Shell) -> None:
    with Journal.open(shell.calls.project.journal_path) as journal:
        journal.append([b"{}"] * 10)
    status = shell.json("status")
    assert status["epoch"] == shell.calls.epoch
    assert status["clock"] == MARCH
    assert status["lag"] == 3
    assert status["offsets"] == {"journal": {"0": 7}}
    assert status["views"]["usage"] == {"rows": 4, "periods": {"open": 1, "grace": 0, "closed": 2}}
    assert status["views"]["totals"] == {"rows": 2}
    assert status["pid"] is None
    code, out, _ = shell("status")
    assert code == 0
    assert "view     usage     4 rows; periods: 1 open, 2 closed" in out


def test_status_before_the_first_run_says_what_is_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    project = project_in(tmp_path)
    with Journal.open(project.journal_path) as journal:
        journal.append([b"{}"] * 4)
    capsys.readouterr()
    assert run(["status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["epoch"], status["clock"], status["lag"]) == (0, None, 4)
    assert status["views"]["usage"] == {"rows": 0}
    assert run(["status"]) == 0


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Callers that are null, the text "null", one that would steer a terminal, and a very long one."""
    monkeypatch.chdir(tmp_path)
    calls = Calls(project_in(tmp_path, DEFINITION.replace("caller: string", "caller: string?")))
    for caller in (None, "null", "\x1b[31mred\n\u202e", "x" * 5_000):
        calls.call(caller, MARCH, seconds=7)
    return Shell(calls.commit([Quarantined(9 << 12, "malformed", "no \x1b[2J", b"\x1b[2J\nfates: none")]), capsys)


def test_a_row_whose_key_is_null_is_found_and_told_from_the_text_null(odd: Shell) -> None:
    assert odd.json("get", "totals", "--null", "caller")["key"] == {"caller": None}
    assert odd.json("get", "totals", "caller=null")["key"] == {"caller": "null"}
    assert odd("get", "totals", "caller=c1", "--null", "caller")[0] == 2
    code, _, err = odd("get", "totals", "--null", "number")
    assert (code, "no key column 'number'" in err) == (2, True)


def test_nothing_that_was_appended_can_steer_the_terminal(odd: Shell) -> None:
    lines = [line for command in (["scan", "totals"], ["ledger"]) for line in odd(*command)[1].splitlines()]
    assert not [line for line in lines if not line.isprintable()]
    assert any(line.startswith(r"\x1b[31mred\n\u202e ") for line in lines)
    assert odd("get", "totals", "caller=\x1b[31mred\n\u202e")[1].splitlines()[0] == r"totals caller=\x1b[31mred\n\u202e"


def test_a_very_long_text_widens_no_line_of_a_table_but_its_own(odd: Shell) -> None:
    lines = odd("scan", "totals")[1].splitlines()
    assert [len(line) > 100 for line in lines if not line.startswith("xxx")] == [False] * 5
    assert any("x" * 5_000 in line for line in lines)
