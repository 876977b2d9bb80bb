"""`make demo` with few calls: what it prints is what the commands answer, from an empty directory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALLS = 4_000


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_shows_bills_moving_sums_fates_and_a_refusal(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    command = [sys.executable, ROOT / "examples" / "demo.py", "--calls", str(CALLS), "--dir", directory]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    bill = re.search(r"^\$ chronicle get bill .*?\n\n", shown.stdout, re.MULTILINE | re.DOTALL)
    assert bill is not None
    assert re.findall(r"2026-\d\d(?=  )", bill[0]) == ["2026-01", "2026-02", "2026-03"]
    assert re.search(r"^recent caller=", shown.stdout, re.MULTILINE)
    assert "CH104" in shown.stdout
    assert re.search(r"appends are in the views, [\d,]+ a second", shown.stderr)

    fates = _json(directory, "ledger")["fates"]
    customers = sum(1 for _ in (directory / "customers.jsonl").open())
    changes = customers + sum(1 for _ in (directory / "moves.jsonl").open()) + 1
    assert sum(fates.values()) == CALLS + changes
    assert (fates["malformed"], fates["future"], fates["retroactive"]) == (4, 2, 1)
    assert fates["late"] > 0


def _json(directory: Path, *arguments: str) -> dict[str, dict[str, int]]:
    command = [sys.executable, "-m", "chronicle.cli.main", *arguments, "--json"]
    answer: dict[str, dict[str, int]] = json.loads(subprocess.check_output(command, cwd=directory))
    return answer
