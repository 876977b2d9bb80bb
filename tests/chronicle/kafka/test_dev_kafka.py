"""`chronicle dev kafka`: a broker in the foreground, as a user starts and stops it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import chronicle
from chronicle.cli.main import run

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@contextmanager
def dev_kafka(*options: str | Path) -> Iterator[str]:
    """Runs it until the end of the block; its bootstrap servers."""
    here = {**os.environ, "PYTHONPATH": str(Path(chronicle.__file__).parents[1]), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "chronicle.cli.main", "dev", "kafka", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=here)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("bootstrap: 127.0.0.1:"), ready
        yield ready.removeprefix("bootstrap: ").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def answers(servers: str) -> bool:
    host, port = servers.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_sigterm_stops_it_in_order_and_its_data_are_there_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with dev_kafka("--data", data) as servers:
        producer = KafkaProducer(bootstrap_servers=servers)
        producer.send("kept", value=b"before").get(30)
        producer.close()
    assert not answers(servers)
    with dev_kafka("--data", data, "--port", servers.split(":")[1]) as again:
        assert again == servers
        consumer = KafkaConsumer(bootstrap_servers=again, consumer_timeout_ms=20_000)
        consumer.assign([TopicPartition("kept", 0)])
        consumer.seek_to_beginning()
        assert next(consumer).value == b"before"
        consumer.close()


def test_a_port_that_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["dev", "kafka", "--port", str(port), "--data", str(tmp_path)]) == 1
    assert f"port {port} is taken" in capsys.readouterr().err


def test_missing_jars_are_a_failure_that_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHRONICLE_JARS", str(tmp_path))
    assert run(["dev", "kafka"]) == 1
    assert "make jars" in capsys.readouterr().err
