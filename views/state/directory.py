"""A state in a directory: on a local disk, or on a volume that several machines mount."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from views.state.durable import sync_directory, write_whole


@dataclass(frozen=True, slots=True)
class Directory:
    """`path` is absolute, and shown as it was `stated`. Whoever writes holds the lock (`writer_lock`), so that `update`
    has nobody to look out for."""

    path: Path
    stated: str = field(default="", compare=False)

    @classmethod
    def at(cls, stated: Path) -> Directory:
        return cls(stated.absolute(), str(stated))

    def __str__(self) -> str:
        return self.stated or str(self.path)

    @property
    def own(self) -> Path:
        return self.path

    @property
    def indexes(self) -> Path:
        return self.path / "local" / socket.gethostname()

    @property
    def glance(self) -> float:
        return 0.0

    @property
    def options(self) -> None:
        return None

    def named(self, name: str) -> str:
        return str(self.path / name)

    def exists(self) -> bool:
        return self.path.exists()

    def holds(self, folder: str) -> bool:
        return (self.path / folder).is_dir()

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def stamp(self, name: str) -> str | None:
        try:
            stat = (self.path / name).stat()
        except FileNotFoundError:
            return None
        return f"{stat.st_ino}-{stat.st_mtime_ns}"

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        path = self.path / name
        before = path.read_bytes() if path.exists() else None
        if (content := change(before)) != before:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)

    @contextmanager
    def source(self, name: str, size: int, *, whole: bool) -> Iterator[Any]:
        with pa.OSFile(str(self.path / name)) as file:
            yield file

    @contextmanager
    def sink(self, name: str) -> Iterator[Any]:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        sync_directory(path.parent)

    def sync(self, folder: str) -> None:
        sync_directory(self.path / folder)

    def explained(self) -> AbstractContextManager[None]:
        return nullcontext()
