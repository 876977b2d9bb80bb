"""Chronicle from the journal: `streaming.run` as `chronicle run --once` calls it, durable state in LMDB.

The calls are in the journal before, as they are in files for the others. An epoch takes as many appends as one of the
files has: at two million calls that is the default.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import chronicle
from benchmarks.contenders.work import VIEWS, Answer, report
from chronicle.journal import Journal
from chronicle.project import Project
from streaming.job import EpochReport
from streaming.run import RunOptions, run

NOTHING: Mapping[str, Path] = {}


@dataclass(frozen=True, slots=True)
class Epoch:
    """`seconds` by the job's own clock; `ended` and the next one's `ended` have Spark's own part between them too."""

    appends: int
    seconds: float
    ended: float


def journal_of(work: Path, before: Mapping[str, Path] = NOTHING) -> Path:
    """The calls of the files in the journal of the definition, as `chronicle append` leaves them, after the changes of
    relations that come `before` them; made once."""
    project = Project.load(work / "chronicle.yaml")
    assert project.journal_path is not None
    if not project.journal_path.exists():
        journal = Journal.open(project.journal_path)
        calls = [("calls", path) for path in sorted(work.glob("calls-*.jsonl"))]
        for name, path in [*before.items(), *calls]:
            lines = path.read_bytes().splitlines()
            for first in range(0, len(lines), 16_384):
                journal.append(lines[first : first + 16_384], headers=(("chronicle", name.encode()),))
        journal.close()
    return project.journal_path


def drained(definition: Path, most: int) -> list[Epoch]:
    """Every epoch of draining the source into a new state."""
    project = Project.load(definition)
    shutil.rmtree(project.state_dir, ignore_errors=True)
    epochs: list[Epoch] = []

    def watch(done: EpochReport) -> None:
        epochs.append(Epoch(done.appends, done.seconds, time.perf_counter()))

    run(project, RunOptions(once=True, most=most), lambda found: None, watch)
    return epochs


def keep(definition: Path, most: int) -> None:
    """Drains all there is into the views, and reports."""
    epochs = drained(definition, most)
    first, last = epochs[0], epochs[-1]
    report(last.ended - first.ended + first.seconds, last.ended - first.ended, lambda: answers(definition))


def answers(definition: Path) -> Iterator[Answer]:
    views = chronicle.connect(definition)
    for view in VIEWS:
        for row in views[view].scan():
            yield view, tuple(row.key.values()), row["calls"], row["seconds"], row["longest"]


def main(work: Path) -> None:
    files = sorted(work.glob("calls-*.jsonl"))
    appends = Journal.open(journal_of(work)).next_offset()
    keep(work / "chronicle.yaml", most=appends // len(files))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
