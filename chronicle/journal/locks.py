"""One appender at a time, among threads and among processes; the kernel drops a dead process's lock."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from types import TracebackType


class FileLock:
    """Held by at most one thread of one process; another `FileLock` on the same file excludes this one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._pid = -1
        self._file = -1

    def __enter__(self) -> FileLock:
        self._threads.acquire()
        try:
            if self._pid != os.getpid():
                # flock belongs to the open file, which a forked child shares with its parent: the child needs its own
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
                self._pid = os.getpid()
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except BaseException:
            self._threads.release()
            raise
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        if self._pid == os.getpid():
            os.close(self._file)
        self._pid = -1
