"""A broker on this machine for the time of a suite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chronicle.cli.machine import jar_directory
from chronicle.kafka.broker import Broker

MISSING = "not measured: the jars are missing (make jars)"


def can_start() -> bool:
    return any((jar_directory() / "kafka").glob("*.jar"))


@contextmanager
def started(directory: Path) -> Iterator[str]:
    """Where it is reached; its data are under the directory, and it ends with the suite."""
    broker = Broker(directory / "broker", jar_directory() / "kafka")
    broker.start()
    try:
        yield broker.servers
    finally:
        broker.stop()
