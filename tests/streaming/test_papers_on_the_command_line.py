"""From an empty directory, with the `chronicle` command only: the papers' examples and their answers, by the engine.

chronicle-data-model §1 and Example 2.1 (frequent flyers, their residence as of the flight), §5.3 (a discount of 10 %
above $10 and 20 % above $25), §5.1 (sums over a moving window).
"""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

DEFINITION = """
chronicle: 1
name: papers
chronicles:
  flights: {columns: {account: string, miles: int64, at: timestamp}, chronon: at}
  calls: {columns: {caller: string, amount: "decimal(12,2)", at: timestamp}, chronon: at}
  trades: {columns: {stock: string, shares: int64, at: timestamp}, chronon: at}
relations:
  customers: {key: [account], columns: {account: string, state: string}}
calendars:
  month: {every: P1M}
  moving30: {every: P1D, length: P30D}
views:
  balance:
    sql: |
      SELECT f.account, sum(f.miles + CASE WHEN c.state = 'NJ' THEN 500 ELSE 0 END) AS miles
      FROM flights f JOIN customers c ON f.account = c.account GROUP BY f.account
  bill:
    from: calls
    group_by: caller
    select: {spend: sum(amount)}
    period: {calendar: month, grace: P60D}
    derive:
      discount: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      due: spend - discount
  sold: {from: trades, group_by: stock, select: {shares: sum(shares)}, period: {calendar: moving30, grace: P90D}}
"""

RESIDENCES = [("2026-01-01", "NY"), ("2026-02-01", "NJ"), ("2026-03-01", "PA")]
FLIGHTS = ["2026-01-10", "2026-01-20", "2026-02-01", "2026-02-28", "2026-03-05"]
AMOUNTS = {"ten": ["4.00", "6.00"], "above": ["10.00", "0.01"], "more": ["12.50", "12.50"], "most": ["25.00", "0.01"]}
TRADES = [("2026-01-01", 100), ("2026-01-02", 10), ("2026-01-30", 1)]


def _lines(items: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


class Shell:
    """Runs `chronicle` in a directory; every command must exit as the contract says."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        command = [sys.executable, "-m", "chronicle.cli.main", *arguments]
        done = subprocess.run(command, cwd=self.directory, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


def test_the_papers_examples_have_the_papers_answers(tmp_path: Path) -> None:
    chronicle = Shell(tmp_path)
    (tmp_path / "chronicle.yaml").write_text(DEFINITION)
    assert {view["class"] for view in chronicle.json("check")["views"].values()} == {"SCA1", "SCA-join"}
    changes = [{"account": "a", "state": state, "_from": f"{day}T00:00:00Z"} for day, state in RESIDENCES]
    chronicle("upsert", "customers", "-", stdin=_lines(changes))
    chronicle(
        "append",
        "trades",
        "-",
        stdin=_lines([{"stock": "T", "shares": n, "at": f"{day}T12:00:00Z"} for day, n in TRADES]),
    )
    spent = [(caller, amount) for caller, amounts in AMOUNTS.items() for amount in amounts]
    calls = [{"caller": caller, "amount": amount, "at": "2026-01-31T12:00:00Z"} for caller, amount in spent]
    chronicle("append", "calls", "-", stdin=_lines(calls))
    flights = [{"account": "a", "miles": 1000, "at": f"{day}T10:00:00Z"} for day in FLIGHTS]
    token = chronicle("append", "flights", "-", stdin=_lines(flights) + "{}\n").strip()
    chronicle("run", "--once")

    balance = chronicle.json("get", "balance", "account=a", "--after", token, "--wait", "1s")
    assert balance["values"] == {"miles": 5 * 1000 + 2 * 500}
    bills = {
        row["key"]["caller"]: row
        for row in map(json.loads, chronicle("scan", "bill", "--format", "jsonl").splitlines())
    }
    assert {caller: row["values"]["spend"] for caller, row in bills.items()} == {
        "ten": "10.00",
        "above": "10.01",
        "more": "25.00",
        "most": "25.01",
    }
    discounts = {caller: Decimal(row["values"]["discount"]) for caller, row in bills.items()}
    wanted = {"ten": "0", "above": "1.001", "more": "2.5", "most": "5.002"}
    assert discounts == {caller: Decimal(discount) for caller, discount in wanted.items()}
    assert Decimal(bills["most"]["values"]["due"]) == Decimal("20.008")
    assert {row["period"]["label"] for row in bills.values()} == {"2026-01"}
    sold = {
        day: chronicle.json("get", "sold", "stock=T", "--period", f"{day}/P30D")["values"]["shares"]
        for day in ("2025-12-03", "2025-12-04", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-30")
    }
    assert sold == {
        "2025-12-03": 100,
        "2025-12-04": 110,
        "2026-01-01": 111,
        "2026-01-02": 11,
        "2026-01-03": 1,
        "2026-01-30": 1,
    }
    chronicle("get", "sold", "stock=T", "--period", "2026-01-31/P30D", code=4)
    chronicle("get", "balance", "account=b", code=4)
    ledger = chronicle.json("ledger")
    assert {fate: n for fate, n in ledger["fates"].items() if n} == {"applied": 3 + 3 + 8 + 5, "malformed": 1}
    status = chronicle.json("status")
    assert (status["lag"], status["offsets"]) == (0, {"journal": {"0": 20}})
    assert chronicle.json("recompute")["agrees"] is True


def test_the_example_that_init_gives_runs_from_an_empty_directory(tmp_path: Path) -> None:
    chronicle = Shell(tmp_path)
    chronicle("init", "--example", "flyer")
    chronicle("upsert", "customers", "customers.jsonl")
    token = chronicle("append", "flights", "flights.jsonl").strip()
    chronicle("get", "balance", "account=a1", code=4)  # no job has run yet
    chronicle("run", "--once")
    chronicle("run", "--once")  # nothing new, without Spark
    row = chronicle.json("get", "balance", "account=a1", "--after", token, "--wait", "1s")
    assert row["values"] == {"flown": 24500, "bonus": 2000, "miles": 26500}
    assert chronicle.json("ledger")["quarantine"] == []
