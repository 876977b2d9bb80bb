"""The files of a journal: `journal.json` (format, identity), `tail`, `segments`, and a `.log` and `.index` per segment.

`journal.json` is written last when a journal is made, so a directory without it is not yet a journal. The identity
tells a journal that was deleted and made anew from the one that a state has consumed.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from chronicle.journal.faults import JournalError, JournalMissingError, JournalReplacedError
from chronicle.journal.frames import seed_of
from chronicle.journal.locks import FileLock
from chronicle.journal.marks import DURABLE, WRITTEN, Mark, write_mark
from chronicle.journal.segments import Manifest, Segment, begin_segment, sync_directory

FORMAT = 1
_HEAD = "journal.json"


@dataclass(slots=True)
class Layout:
    directory: Path
    identity: str
    seed: int
    tail: int
    writable: bool
    manifest: Manifest

    def check_same(self) -> None:
        """Raises where the files open here are no longer those at the path."""
        try:
            there = (self.directory / "tail").stat()
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, os.fstat(self.tail)):
            raise JournalReplacedError(
                f"the journal {self.directory} was removed or replaced while it was open",
                "open it again; a state made from the old one does not belong to the new one",
            )

    def close(self) -> None:
        os.close(self.tail)


def open_layout(directory: Path, *, create: bool, now: int) -> Layout:
    if not (directory / _HEAD).exists():
        if not create:
            raise JournalMissingError(
                f"there is no journal at {directory}", "append something first, or check `source` in the definition"
            )
        _create(directory, now)
    identity = _identity(directory / _HEAD)
    tail, writable = _open_tail(directory / "tail")
    seed = seed_of(uuid.UUID(identity).bytes)
    return Layout(directory, identity, seed, tail, writable, Manifest(directory))


def _open_tail(path: Path) -> tuple[int, bool]:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644), True
    except OSError:  # a reader without the right to write, or a file system mounted read-only
        return os.open(path, os.O_RDONLY), False


def _identity(head: Path) -> str:
    try:
        found = json.loads(head.read_bytes())
        version, identity = int(found["format"]), str(uuid.UUID(found["id"]))
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{head} does not describe a journal: {error}", "restore it from a copy") from error
    if version > FORMAT:
        raise JournalError(
            f"the journal {head.parent} has format {version}; this program knows up to {FORMAT}",
            "use the newer version of chronicle that wrote it",
        )
    return identity


def _create(directory: Path, now: int) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(directory / "write.lock")
        with lock:
            if not (directory / _HEAD).exists():
                _lay_out(directory, now)
        lock.close()
    except OSError as error:
        raise JournalError(f"the journal {directory} cannot be made: {error.strerror}") from error


def _lay_out(directory: Path, now: int) -> None:
    manifest = Manifest(directory)
    manifest.replace([])
    begin_segment(directory, manifest, Segment(0, now, 0, 0))
    tail, _ = _open_tail(directory / "tail")
    for where in (WRITTEN, DURABLE):
        write_mark(tail, where, Mark(0, 0, 0, 0, 0, 0, 0))
    os.close(tail)
    draft = directory / f"{_HEAD}.new"
    with draft.open("w") as file:
        json.dump({"format": FORMAT, "id": str(uuid.uuid4())}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / _HEAD)
    sync_directory(directory)
    sync_directory(directory.parent)
