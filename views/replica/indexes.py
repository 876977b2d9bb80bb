"""Where a Delta state is read from: an index that follows it. A machine has its own under `STATE/local/HOST`, shared by
all its processes (LMDB has one writer at a time, and an epoch is folded once); `--local` names another.

Indexes of different definitions lie apart, by a digest of the views and relations that they hold. All of them may be
deleted at any time: they are built anew from the table.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from chronicle.errors import ChronicleError
from chronicle.project import Project
from views.plan import GroupPlan, plan_group
from views.replica.follower import Follower, known_meta
from views.replica.table import table_path
from views.state import Meta, NoStateError, read_meta, writer_lock

POLL_SECONDS = 0.05

_log = logging.getLogger("chronicle.replica")
_following: dict[tuple[int, Path], Following] = {}
_starting = threading.Lock()


def is_delta(directory: Path) -> bool:
    """Whether there is a Delta state (not an index of one)."""
    return (table_path(directory) / "_delta_log").is_dir()


def plan_of(project: Project) -> GroupPlan:
    """The plan of the views that are admitted; what is not may have rows in the state, which nobody reads here."""
    return plan_group(project.definition, project.check().admitted.values())


def private_index(home: Path, plan: GroupPlan) -> Path:
    """This machine's index of a Delta state for these views."""
    known = known_meta(read_meta(home), plan)
    directory = home / "local" / socket.gethostname() / _digest(known)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise ChronicleError(
            f"{directory} cannot be written: reading a Delta state needs an index",
            "keep one elsewhere with `chronicle follow --local DIR`, and read it with --local DIR",
        )
    return directory


def _digest(meta: Meta) -> str:
    parts = [
        f"{kind} {each.id} {each.fingerprint}"
        for kind, registered in (("view", meta.views), ("relation", meta.relations))
        for each in sorted(registered.values(), key=lambda each: each.id)
    ]
    return sha256("\n".join([meta.id, *parts]).encode()).hexdigest()[:12]


def readable(project: Project, directory: Path) -> Path:
    """Where lookups read: the directory itself, or for a Delta state this machine's index, brought up to date and kept
    current by a thread from now on."""
    try:
        meta = read_meta(directory)
    except NoStateError:
        return directory
    if meta.store != "delta" or not is_delta(directory):
        return directory
    plan = plan_of(project)
    index = private_index(directory, plan)
    with _starting:
        key = (os.getpid(), directory)
        before = _following.get(key)
        if before is None or before.follower.index != index:
            if before is not None:
                before.stop()
            follower = Follower(directory, index, plan)
            follower.catch_up()
            _following[key] = Following(follower)
            _following[key].start()
    return index


@contextmanager
def followed(project: Project, local: Path | None = None) -> Iterator[Follower]:
    """A follower of the project's Delta state, into this machine's own index or into one that is `local`, which then no
    other process may follow into."""
    home = project.state_dir.absolute()
    if not is_delta(home):
        read_meta(home)  # raises where there is no state at all
        raise ChronicleError(f"the state at {home} is not in the Delta store", "read it as it is: it needs no follower")
    plan = plan_of(project)
    if local is None:
        yield Follower(home, private_index(home, plan), plan)
        return
    with writer_lock(local):
        yield Follower(home, local.absolute(), plan)


def follow(follower: Follower, poll: float, stopping: threading.Event, say: Callable[[str], None]) -> None:
    """Until `stopping` is set or the state is gone; what goes wrong is said once and tried again."""
    failed = ""
    while not stopping.wait(poll) and follower.home.exists():
        try:
            follower.catch_up()
            failed = ""
        except Exception as error:
            if str(error) != failed:
                say(f"the index {follower.index} is not current: {error}")
            failed = str(error)


class Following(threading.Thread):
    """Follows in the background for the life of the process."""

    def __init__(self, follower: Follower, poll: float = POLL_SECONDS) -> None:
        super().__init__(name="chronicle-follower", daemon=True)
        self.follower = follower
        self._poll = poll
        self._stopping = threading.Event()

    def run(self) -> None:
        follow(self.follower, self._poll, self._stopping, _log.warning)

    def stop(self) -> None:
        self._stopping.set()
        self.join()
