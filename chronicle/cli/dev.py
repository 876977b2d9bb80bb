"""`chronicle dev kafka`: a real single-node broker in the foreground, for trying out and for tests."""

from __future__ import annotations

import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import click

from chronicle.cli import output


@click.group("dev")
def command() -> None:
    """What one needs beside Chronicle while developing."""


@command.command("kafka")
@click.option("--port", type=click.IntRange(1, 65535), help="The port on 127.0.0.1; default: a free one.")
@click.option("--data", type=click.Path(file_okay=False), help="Keeps the topics there; default: they go with it.")
def kafka(port: int | None, data: str | None) -> int:
    """Run Apache Kafka on loopback until it is stopped (Ctrl-C or SIGTERM).

    Prints `bootstrap: 127.0.0.1:PORT` when it is ready.

    \b
    chronicle dev kafka --port 9092
    chronicle dev kafka --port 9092 --data kafka-data
    """
    from chronicle.cli.machine import jar_directory
    from chronicle.kafka.broker import Broker

    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _stop))
        try:
            directory = data or stack.enter_context(tempfile.TemporaryDirectory(prefix="chronicle-kafka-"))
            broker = Broker(Path(directory), jar_directory() / "kafka", port)
            stack.callback(broker.stop)
            broker.start()
            output.result(f"bootstrap: {broker.servers}")
            code = broker.wait()
        except (KeyboardInterrupt, _Stopped):
            return 0
        output.failure(f"the broker ended with exit code {code}", f"see {broker.log}" if data else "")
        return 1


class _Stopped(BaseException):
    """SIGTERM came."""


def _stop(_: int, __: FrameType | None) -> None:
    raise _Stopped
