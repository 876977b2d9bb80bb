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
from random import Random
from typing import Any
from uuid import uuid4

PATIENCE = 240.0
"""Seconds after which a job that says nothing is taken for dead; Spark alone takes many on a busy machine."""

_MARK = "CHRONICLE_TEST_JOB"
"""In the environment of all processes of a job, and what they are found by: the number, and so the group, of one that
is gone may be another's by now."""


class RunningJob:
    """What it says on stderr is read all the time; every line of JSON is an epoch."""

    def __init__(self, directory: Path, *arguments: str, **environment: str) -> None:
        command = [sys.executable, "-m", "chronicle.cli.main", "run", *arguments]
        self._mark = str(uuid4())
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                **environment,
                _MARK: self._mark,
            },
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

    def kill_workers(self, chance: Random, most: int) -> int:
        """kill -9 of some of the Python processes that run tasks or fork those that do; how many it hit."""
        found = [pid for pid, command in _marked(self._mark) if "streaming.daemon pyspark.worker" in command]
        return sum(map(_kill, chance.sample(found, min(most, len(found)))))

    def kill_rest(self) -> None:
        """kill -9 of all that is left of it."""
        for pid, _ in _marked(self._mark):
            _kill(pid)
        self.process.wait()

    def output(self) -> str:
        self._reader.join(PATIENCE)
        return "".join(self.said)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    """The processes with this mark, and their commands."""
    marked = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # gone meanwhile, or somebody else's
                if marked in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()


@contextmanager
def running(directory: Path, *arguments: str, **environment: str) -> Iterator[RunningJob]:
    """A job that is gone, with all of its processes, when the block ends."""
    job = RunningJob(directory, *arguments, **environment)
    try:
        yield job
    finally:
        job.kill_rest()
