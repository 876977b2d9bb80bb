"""`chronicle run` as a process of its own, in its own process group, as a user or a service manager starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 240.0
"""Seconds after which a job that says nothing is taken for dead; Spark alone takes many on a busy machine."""


class RunningJob:
    """What it says on stderr is read all the time; every line of JSON is an epoch."""

    def __init__(self, directory: Path, *arguments: str, **environment: str) -> None:
        command = [sys.executable, "-m", "chronicle.cli.main", "run", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        )
        self.epochs: list[dict[str, Any]] = []
        self.said: list[str] = []
        self._news = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                if line.startswith("{"):
                    self.epochs.append(json.loads(line))
                else:
                    self.said.append(line)
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def wait_for_epochs(self, count: int) -> None:
        """Until so many epochs were committed since the job started: it may be ahead of who waits."""
        with self._news:
            reached = self._news.wait_for(lambda: len(self.epochs) >= count or self._over, PATIENCE)
        assert reached, "the job says nothing"
        assert len(self.epochs) >= count, "".join(self.said)

    def kill_group(self) -> None:
        """kill -9 of the job, its JVM and its Python workers at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_driver(self) -> None:
        """kill -9 of the one process that a user knows of; the JVM and the workers notice in their own time."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def workers(self) -> list[int]:
        """The Python processes of Spark that run tasks."""
        return [pid for pid, command in _session_of(self.process.pid) if "streaming.daemon pyspark.worker" in command]

    def output(self) -> str:
        self._reader.join(PATIENCE)
        return "".join(self.said)


def _session_of(leader: int) -> Iterator[tuple[int, str]]:
    """Its processes; those of Spark's Python daemon are of a process group of their own."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == leader:
                    yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (ProcessLookupError, FileNotFoundError):
                continue


@contextmanager
def running(directory: Path, *arguments: str, **environment: str) -> Iterator[RunningJob]:
    """A job that is gone, with all of its processes, when the block ends."""
    job = RunningJob(directory, *arguments, **environment)
    try:
        yield job
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait()
