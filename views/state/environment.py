"""LMDB environments: one per shard, opened once per process, with a map that is large from the start and can grow.

The map is address space, not memory or disk: the file is as large as its data. Where the process may not have so much
(`ulimit -v`) a smaller one is taken, and grown when it is full.
"""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb

from chronicle.errors import ChronicleError, NotFoundError

if TYPE_CHECKING:
    Transaction = lmdb.Transaction[bytes]
    Cursor = lmdb.Cursor[bytes]

MAP_SIZE = 1 << 38
"""256 GiB of address space a shard; 64 shards are an eighth of what x86-64 has."""

_LEAST_MAP = 1 << 24
_DATABASES = (b"rows", b"periods", b"versions", b"quarantine", b"control")


@dataclass(frozen=True, slots=True)
class Databases:
    rows: Any
    periods: Any
    versions: Any
    quarantine: Any
    control: Any

    @property
    def all(self) -> tuple[Any, ...]:
        return (self.rows, self.periods, self.versions, self.quarantine, self.control)


@dataclass(frozen=True, slots=True)
class Environment:
    path: Path
    env: lmdb.Environment
    databases: Databases

    def begin(self, write: bool = False) -> Transaction:
        """A transaction; a reader whose map another process has outgrown adopts the new size first."""
        try:
            return self.env.begin(write=write)
        except lmdb.MapResizedError:
            self.env.set_mapsize(0)
            return self.env.begin(write=write)

    def grow(self) -> None:
        """Doubles the map. No transaction of this process may be open."""
        self.env.set_mapsize(2 * self.env.info()["map_size"])


_lineage: list[int] = []


def lineage() -> int:
    """How many forks lie between this process and the one that started Python; no system call, unlike the pid."""
    return len(_lineage)


os.register_at_fork(after_in_child=lambda: _lineage.append(os.getpid()))

_open: dict[tuple[int, str], Environment] = {}
_opening = threading.Lock()


def environment(path: Path, *, create: bool = False, map_size: int = MAP_SIZE) -> Environment:
    """The process's one handle on a shard. LMDB allows no second, and none to a fork of a process that has one."""
    key = (os.getpid(), str(path.resolve()))
    with _opening:
        if key not in _open:
            if any(where == key[1] for _, where in _open):
                raise ChronicleError(
                    f"the shard at {path} was opened before this process was forked",
                    "connect after the fork, or start processes with `spawn`",
                )
            _open[key] = _opened(path, create, map_size)
        return _open[key]


def close_environment(path: Path) -> None:
    """Gives the handle up; for those who are about to delete or replace the files."""
    with _opening:
        held = _open.pop((os.getpid(), str(path.resolve())), None)
    if held is not None:
        held.env.close()


def _opened(path: Path, create: bool, map_size: int) -> Environment:
    if not create and not (path / "data.mdb").exists():
        raise NotFoundError(f"there is no shard at {path}", "the state is not complete: restore it, or start a new one")
    if create:
        path.mkdir(parents=True, exist_ok=True)
    readonly = not create and not os.access(path / "data.mdb", os.W_OK)
    env = _mapped(path, readonly, map_size)
    try:
        handles = [env.open_db(name, create=create) for name in _DATABASES]
    except lmdb.NotFoundError:
        env.close()
        raise NotFoundError(f"the shard at {path} has never been written", "run `chronicle run` first") from None
    return Environment(path, env, Databases(*handles))


def _mapped(path: Path, readonly: bool, map_size: int) -> lmdb.Environment:
    while True:
        try:
            return lmdb.open(
                str(path),
                map_size=map_size,
                max_dbs=len(_DATABASES),
                max_readers=1022,
                max_spare_txns=8,
                readonly=readonly,
                readahead=False,
                create=not readonly,
            )
        except (lmdb.MemoryError, lmdb.Error, OSError) as error:
            if _is_no_memory(error) and map_size > _LEAST_MAP:
                map_size //= 4
                continue
            raise ChronicleError(
                f"the shard at {path} cannot be opened: {error}",
                "a reader needs write permission on lock.mdb beside the data" if readonly else "",
            ) from error


def _is_no_memory(error: Exception) -> bool:
    return isinstance(error, lmdb.MemoryError) or getattr(error, "code", None) == errno.ENOMEM
