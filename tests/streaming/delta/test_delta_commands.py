"""The Delta store as a user has it: run, get, scan, follow, compact, export and serve, and what each refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from chronicle.cli.main import run
from views.state.storage import storage_at

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DEFINITION = """
chronicle: 1
name: telecom
source: {journal: journal}
state: state
shards: 2
chronicles:
  calls: {columns: {caller: string, amount: "decimal(12,2)", at: timestamp}, chronon: at}
calendars: {month: {every: P1M, zone: UTC}}
views:
  bill:
    from: calls
    group_by: caller
    select: {calls: count(*), spend: sum(amount)}
    period: {calendar: month}
    derive: {due: spend * 2}
"""
ROOT = Path(__file__).parents[3]


class Shell:
    """Commands in this process where they need no Spark, in one of their own where they do."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = run(arguments)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def json(self, *arguments: str) -> Any:
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


def _process(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "chronicle.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def _run(*arguments: str, **environment: str) -> tuple[int, str]:
    process = _process("run", "--once", *arguments, **environment)
    _, said = process.communicate()
    return process.returncode, said


def _append(shell: Shell, number: int) -> str:
    call = {"caller": f"c{number % 3}", "amount": "1.25", "at": f"2026-03-01T00:{number:02d}:00Z"}
    Path("calls.jsonl").write_text(json.dumps(call) + "\n")
    code, out, err = shell("append", "calls", "calls.jsonl")
    assert code == 0, err
    return out.strip()


def test_a_delta_state_from_its_first_run_to_its_lookups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(capsys)
    Path("chronicle.yaml").write_text(DEFINITION)
    tokens = [_append(shell, number) for number in range(6)]

    # a follower waits for the job that makes the state
    early = _process("follow", "--local", "early")
    assert early.stderr is not None
    assert "there is no state at state yet" in early.stderr.readline()

    # a driver that dies before its commit, and one that dies after it
    assert _run("--store", "delta", "--max-batch", "4", CHRONICLE_FAILPOINT="uncommitted")[0] == -signal.SIGKILL
    assert shell("get", "bill", "caller=c1", "--json")[0] == 4
    assert _run("--max-batch", "4", CHRONICLE_FAILPOINT="committed")[0] == -signal.SIGKILL
    assert shell.json("status")["epoch"] == 1
    assert _run()[0] == 0
    status = shell.json("status")
    assert (status["lag"], status["fates"]["applied"], status["offsets"]) == (0, 6, {"journal": {"0": 6}})

    row = shell.json("get", "bill", "caller=c1")
    assert row["values"] == {"calls": 2, "spend": "2.50", "due": "5.00"}
    assert row["period"]["label"] == "2026-03"
    assert row["as_of"]["offsets"] == {"journal": {"0": 6}}

    code, found, said = shell("get", "bill", "caller=c1", "--local", "early", "--after", tokens[-1], "--wait", "60s")
    assert (code, "2.50" in found) == (0, True), said
    early.terminate()
    assert early.wait(60) == 0

    # a state knows its store
    code, said = _run("--store", "embedded")
    assert code == 2
    assert "kept in the delta store" in said

    # an index of one's own, before and after a compaction
    scanned = shell("scan", "bill", "--format", "jsonl")[1]
    assert scanned.count("\n") == 3
    assert shell("get", "bill", "caller=c1", "--local", "index")[0] == 4
    assert shell("follow", "--once", "--local", "index")[0] == 0
    assert shell("scan", "bill", "--format", "jsonl", "--local", "index")[1] == scanned
    assert shell.json("compact")["epochs"] == status["epoch"]
    assert shell("follow", "--once", "--local", "fresh")[0] == 0
    for where in (("--local", "index"), ("--local", "fresh"), ()):
        assert shell("scan", "bill", "--format", "jsonl", *where)[1] == scanned
    assert shell("compact", "--retain", "5m")[0] == 2

    # tables for others
    assert shell.json("export", "out") == {"tables": {"bill": {"rows": 3}}}
    table = DeltaTable("out/bill").to_pyarrow_table()
    assert table.column_names == [
        "caller",
        "period",
        "period_start",
        "period_end",
        "period_state",
        "calls",
        "spend",
        "due",
    ]
    assert sorted(map(str, table.column("due").to_pylist())) == ["5.00", "5.00", "5.00"]
    assert shell("export", "out", "bill", "--format", "parquet")[0] == 0
    assert pq.read_table("out/bill.parquet").equals(table)

    # a server that follows sees an append once it is committed, not before
    server = _process("serve", "--port", "0", "--follow", "--local", "served")
    try:
        assert server.stderr is not None
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
        token = _append(shell, 7)
        assert _run()[0] == 0
        with urllib.request.urlopen(f"{address}/v1/views/bill?caller=c1&after={token}&wait=30s") as answer:
            assert json.load(answer)["values"]["calls"] == 3
    finally:
        server.terminate()
        server.communicate()
    assert server.returncode == 0


def test_commands_of_the_delta_store_refuse_other_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(capsys)
    Path("chronicle.yaml").write_text(DEFINITION)
    for command in (("follow", "--once"), ("compact",)):
        code, _, said = shell(*command)
        assert (code, "there is no state" in said) == (4, True)
    assert _run()[0] == 0  # nothing to drain, so that no Spark is started
    for command in (("follow", "--once", "--local", "index"), ("compact",)):
        code, _, said = shell(*command)
        assert (code, "not in the Delta store" in said) == (1, True)


def test_a_delta_state_in_a_bucket_from_its_first_run_to_its_lookups(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    bucket_url: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(capsys)
    url = bucket_url.replace("s3://", "s3a://")
    Path("chronicle.yaml").write_text(DEFINITION.replace("state: state", f"state: {url}"))
    code, _, said = shell("run", "--once")
    assert (code, "keep it there with --store delta" in said) == (2, True)
    assert shell.json("doctor", "-f", "chronicle.yaml")["findings"][-2]["status"] == "ok"
    for number in range(6):
        _append(shell, number)
    code, said = _run("--store", "delta", "--max-batch", "4", CHRONICLE_FAILPOINT="committed")
    assert code == -signal.SIGKILL, said
    assert shell.json("status")["epoch"] == 1
    code, said = _run("--state", url)
    assert code == 0, said
    assert shell.json("status")["fates"]["applied"] == 6
    assert shell.json("get", "bill", "caller=c1")["values"] == {"calls": 2, "spend": "2.50", "due": "5.00"}

    # an index of one's own, before and after a compaction
    scanned = shell("scan", "bill", "--format", "jsonl")[1]
    assert scanned.count("\n") == 3
    assert shell("follow", "--once", "--local", "index")[0] == 0
    assert shell.json("compact")["epochs"] == 2
    assert shell("follow", "--once", "--local", "fresh")[0] == 0
    for where in (("--local", "index"), ("--local", "fresh"), ()):
        assert shell("scan", "bill", "--format", "jsonl", *where)[1] == scanned

    # tables for others, and nothing of a bucket's in a directory of its name
    tables = storage_at(f"{bucket_url}-tables")
    assert shell.json("export", str(tables)) == {"tables": {"bill": {"rows": 3}}}
    assert shell("export", str(tables), "--format", "parquet")[0] == 0
    table = DeltaTable(tables.named("bill"), storage_options=tables.options).to_pyarrow_table()
    assert pq.read_table(pa.BufferReader(tables.read("bill.parquet"))).equals(table)
    assert {path.name for path in tmp_path.iterdir()} == {"calls.jsonl", "chronicle.yaml", "fresh", "index", "journal"}
