"""One writer per state: an advisory lock that dies with its process, and names it to the next one that tries."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chronicle.errors import ChronicleError


class StateInUseError(ChronicleError):
    """Another process writes this state."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"the state {path} is being written by {who}",
            f"stop it first (kill {pid or 'PID'}), or give this job its own --state",
        )
        self.pid = pid


def holder_of(directory: Path) -> int | None:
    """The process that writes the state now, if there is one."""
    try:
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(descriptor)
    finally:
        os.close(descriptor)
    return None


@contextmanager
def writer_lock(directory: Path) -> Iterator[None]:
    """Held for the life of a job. The file stays: removing it would let two processes lock two files of one name."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not _taken(descriptor):
            raise StateInUseError(directory, _pid_in(descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    """Tries for a moment: `holder_of` in a third process may hold the lock for an instant."""
    for _ in range(5):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def _pid_in(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isdigit() else None
