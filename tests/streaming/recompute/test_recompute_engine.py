"""The first two of three answers, as a user asks for them: `chronicle run`, then `chronicle recompute`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES = {
    "telecom": [("upsert", "customers", "customers.jsonl"), ("append", "calls", "calls.jsonl")],
    "flyer": [("upsert", "customers", "customers.jsonl"), ("append", "flights", "flights.jsonl")],
}


def _chronicle(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chronicle.cli.main", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.parametrize("example", ["telecom", pytest.param("flyer", marks=pytest.mark.deep)])
def test_the_engine_and_spark_sql_give_the_same_rows_of_an_example(example: str, tmp_path: Path) -> None:
    for command in (("init", ".", "--example", example), *FILES[example], ("run", "--once")):
        done = _chronicle(tmp_path, *command)
        assert done.returncode == 0, (command, done.stderr)
    answer = _chronicle(tmp_path, "recompute", "--json")
    assert answer.returncode == 0, (answer.stdout, answer.stderr)
    assert answer.stderr == ""
    report = json.loads(answer.stdout)
    assert report["agrees"]
    assert all(view["rows"] for view in report["views"].values())
