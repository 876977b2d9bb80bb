"""One real broker for all tests that need one, started as a user would: `chronicle dev kafka`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import chronicle
from chronicle.cli.machine import jar_directory


@pytest.fixture(scope="session")
def kafka_servers() -> Iterator[str]:
    if not any((jar_directory() / "kafka").glob("kafka_*.jar")):
        pytest.skip("Kafka's jars are not there: make jars")
    here = {**os.environ, "PYTHONPATH": str(Path(chronicle.__file__).parents[1])}
    command = [sys.executable, "-m", "chronicle.cli.main", "dev", "kafka"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=here)
    assert process.stdout is not None
    ready = process.stdout.readline()
    assert ready.startswith("bootstrap: 127.0.0.1:"), ready
    yield ready.removeprefix("bootstrap: ").strip()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
