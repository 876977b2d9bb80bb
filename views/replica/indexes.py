"""Where a Delta state is read from: an index that follows it. A machine has its own (`Storage.indexes`), shared by all
its processes (LMDB has one writer at a time, and an epoch is folded once); `--local` names another.

Indexes of different definitions lie apart, by a digest of the views and relations that they hold. All of them may be
deleted at any time: they are built anew from the table.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from chronicle.errors import ChronicleError
from chronicle.project import Project
from views.plan import GroupPlan, plan_group
from views.replica.follower import Follower, OtherViewsError, known_meta
from views.replica.table import LOG
from views.state import Meta, NoStateError, read_meta, writer_lock
from views.state.directory import Directory
from views.state.meta import write_meta
from views.state.storage import Storage

POLL_SECONDS = 0.05

_log = logging.getLogger("chronicle.replica")
_following: dict[tuple[int, Storage], Following] = {}
_starting = threading.Lock()


def is_delta(home: Storage) -> bool:
    """Whether there is a Delta state (not an index of one)."""
    return home.holds(LOG)


def plan_of(project: Project) -> GroupPlan:
    """The plan of the views that are admitted; what is not may have rows in the state, which nobody reads here."""
    return plan_group(project.definition, project.check().admitted.values())


def private_index(home: Storage, plan: GroupPlan) -> Path:
    """This machine's index of a Delta state for these views."""
    return _private_root(home) / digest_of(known_meta(read_meta(home), plan))


def _private_root(home: Storage) -> Path:
    directory = home.indexes
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


def digest_of(meta: Meta) -> str:
    parts = [
        f"{kind} {each.id} {each.fingerprint}"
        for kind, registered in (("view", meta.views), ("relation", meta.relations))
        for each in sorted(registered.values(), key=lambda each: each.id)
    ]
    return sha256("\n".join([meta.id, *parts]).encode()).hexdigest()[:12]


@dataclass(slots=True)
class Keeper:
    """Keeps the index under `root` current. Where the views of the state come to be others, that is another index: it
    is filled, and only then `root/meta.json` says so to those who read it. A machine's own index is found without."""

    home: Storage
    root: Path
    plan: GroupPlan
    own: bool = False
    follower: Follower = field(init=False)
    _told: Meta | None = None

    def __post_init__(self) -> None:
        self._renew()

    @property
    def epoch(self) -> int:
        return self.follower.epoch

    def catch_up(self) -> int:
        """Takes in what was committed; returns how many epochs were new."""
        try:
            new = self.follower.catch_up()
        except OtherViewsError:
            self._renew()
            new = self.follower.catch_up()
        meta = self.follower.state.meta
        if meta != self._told and not self.own:
            write_meta(self.root, meta)
            self._told = meta
        return new

    def _renew(self) -> None:
        known = known_meta(read_meta(self.home), self.plan)
        if (self.root / "meta.json").exists() and read_meta(self.root).id != known.id:
            raise ChronicleError(
                f"{self.root} is an index of another state", "name another directory, or remove this one first"
            )
        self.follower = Follower(self.home, self.root / digest_of(known), self.plan)


def readable(project: Project, home: Storage) -> Path:
    """Where lookups read: the directory itself; of a directory that `chronicle follow` keeps, its index; of a Delta
    state this machine's own, brought up to date and kept current by a thread from now on."""
    meta = read_meta(home)
    if isinstance(home, Directory) and (meta.store != "delta" or (home.path / "shards").exists()):
        return home.path
    if not is_delta(home):
        index = home.path / digest_of(meta) if isinstance(home, Directory) else None
        if index is None or not index.exists():
            raise NoStateError(home)  # the job that makes it is about to write its table
        return index
    plan = plan_of(project)
    with _starting:
        key = (os.getpid(), home)
        before = _following.get(key)
        wanted = digest_of(known_meta(meta, plan))
        if before is None or not before.is_alive() or before.keeper.follower.index.name != wanted:
            if before is not None:
                before.stop()
            keeper = Keeper(home, _private_root(home), plan, own=True)
            keeper.catch_up()
            _following[key] = Following(keeper, max(POLL_SECONDS, home.glance))
            _following[key].start()
        return _following[key].keeper.follower.index


def readable_now(project: Project) -> Path | None:
    """Where the state can be read as it is, of a Delta state this machine's index as far as it has come; None where
    there is none. Nothing is made, and nothing followed."""
    home = project.home
    try:
        meta = read_meta(home)
    except NoStateError:
        return None
    if isinstance(home, Directory) and meta.store != "delta":
        return home.path
    index = home.indexes / digest_of(known_meta(meta, plan_of(project)))
    return index if (index / "meta.json").exists() else None


@contextmanager
def followed(project: Project, local: Path | None = None) -> Iterator[Keeper]:
    """Follows the project's Delta state, into this machine's own index or into one that is `local`, which then no other
    process may follow into."""
    home = project.home
    if not is_delta(home):
        if read_meta(home).store == "delta":
            raise NoStateError(home)  # the job that makes it is about to write its table
        raise ChronicleError(f"the state at {home} is not in the Delta store", "read it as it is: it needs no follower")
    if local is None:
        yield Keeper(home, _private_root(home), plan_of(project), own=True)
        return
    with writer_lock(local):
        yield Keeper(home, local.absolute(), plan_of(project))


def await_state(home: Storage, poll: float, stopping: threading.Event, say: Callable[[str], None]) -> None:
    """Waits, and says so, until a job has begun the state or `stopping` is set. What else is at its place is let pass:
    following it says what that is."""
    said = False
    while not is_delta(home):
        with suppress(NoStateError):
            if read_meta(home).store != "delta":
                return
        if not said:
            say(f"there is no state at {home} yet: waiting for the job that makes it")
        said = True
        if stopping.wait(poll):
            return


def follow(keeper: Keeper, poll: float, stopping: threading.Event, say: Callable[[str], None]) -> None:
    """Until `stopping` is set or the state is gone; what goes wrong is said once and tried again."""
    failed = ""
    while not stopping.wait(poll) and keeper.home.exists():
        try:
            keeper.catch_up()
            failed = ""
        except Exception as error:
            if str(error) != failed:
                say(f"the index {keeper.root} is not current: {error}")
            failed = str(error)


class Following(threading.Thread):
    """Follows in the background for the life of the process."""

    def __init__(self, keeper: Keeper, poll: float = POLL_SECONDS) -> None:
        super().__init__(name="chronicle-follower", daemon=True)
        self.keeper = keeper
        self._poll = poll
        self._stopping = threading.Event()

    def run(self) -> None:
        follow(self.keeper, self._poll, self._stopping, _log.warning)

    def stop(self) -> None:
        self._stopping.set()
        self.join()
