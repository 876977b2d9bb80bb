"""docs/deployment.md, tried line by line as a new user would."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import ROOT

from chronicle.kafka.broker import Broker

PAGE = (ROOT / "docs" / "deployment.md").read_text()
BIN = Path(sys.executable).parent
DONE_ALREADY = ("make setup", "export PATH=")


def lines_of(section: str, *containing: str) -> list[str]:
    """The shell lines of a section; of the blocks that hold all of these words, where some are given."""
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    chosen = [block for block in blocks if all(word in block for word in containing)]
    assert chosen, f"no block of '{section}' has {containing}"
    return [line for block in chosen for line in block.splitlines() if not line.startswith(DONE_ALREADY)]


def shell(lines: list[str], where: Path, **environment: str) -> str:
    path = f"{BIN}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=where,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bills(said: str) -> list[list[str]]:
    """The rows of the table that `chronicle get --all` prints."""
    return [line.split() for line in said.splitlines() if re.match(r"\+0000007 +2026-", line)]


@pytest.mark.spark
@pytest.mark.slow
def test_the_laptop_answers_with_the_bills_of_three_months(tmp_path: Path) -> None:
    said = shell(lines_of("1. A laptop"), tmp_path)
    assert [bill[1] for bill in bills(said)] == ["2026-01", "2026-02", "2026-03"]
    assert "applied 413" in said


def without_state(bill: list[str]) -> list[str]:
    """Partitions without calls hold periods open until they have been idle for a while; the amounts are the same."""
    return bill[:4] + bill[5:]


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
def test_a_broker_gives_the_same_bills_as_the_journal(tmp_path: Path, own_broker: Broker) -> None:
    journal = shell(lines_of("1. A laptop"), tmp_path)
    there = tmp_path / "telecom"
    (changed,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    definition = (there / "chronicle.yaml").read_text()
    (there / "chronicle.yaml").write_text(re.sub(r"^source: .*\n", changed, definition, flags=re.MULTILINE))
    broker = shell(lines_of("2. With a real broker", "topics create"), there, KAFKA_SERVERS=own_broker.servers)
    assert [without_state(bill) for bill in bills(broker)] == [without_state(bill) for bill in bills(journal)] != []


@pytest.mark.spark
@pytest.mark.slow
def test_a_cluster_with_delta_and_a_follower_gives_the_same_bills(tmp_path: Path) -> None:
    """The block with a master and a worker, on a free port and in the test's directory; bash ends what it started."""
    journal = shell(lines_of("1. A laptop"), tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    block = "\n".join(lines_of("4. A cluster", "spark-class"))
    there = block.replace("7077", port).replace("/tmp/telecom", str(tmp_path / "telecom"))
    assert there.count(port) == 3
    stopped = ["trap 'kill $(jobs -p)' EXIT", there]
    ports = {"SPARK_MASTER_WEBUI_PORT": "0", "SPARK_WORKER_WEBUI_PORT": "0"}
    assert bills(shell(stopped, tmp_path / "telecom", **ports)) == bills(journal) != []
