"""Chronicle from the journal, which has the customers' versions first; durable state in LMDB."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import chronicle
from benchmarks.contenders.billing import VIEWS
from benchmarks.contenders.ours import drained, journal_of
from benchmarks.contenders.work import Answer, report
from chronicle.journal import Journal
from chronicle.project import Project


def main(work: Path) -> None:
    definition = work / "chronicle.yaml"
    journal_of(work, before={"customers": work / "customers.jsonl"})
    path = Project.load(definition).journal_path
    assert path is not None
    epochs = drained(definition, most=Journal.open(path).next_offset() // 4 + 1)
    first, last = epochs[0], epochs[-1]
    report(last.ended - first.ended + first.seconds, last.ended - first.ended, lambda: answers(definition))


def answers(definition: Path) -> Iterator[Answer]:
    views = chronicle.connect(definition)
    for view in VIEWS:
        for row in views[view].scan():
            period = (row.period.label.removesuffix("/P30D"),) if row.period else ()
            yield view, (*row.key.values(), *period), row["calls"], row["seconds"], row["longest"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
