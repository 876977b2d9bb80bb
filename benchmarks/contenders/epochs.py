"""Ours, epoch by epoch: `python -m benchmarks.contenders.epochs WORK MOST [DEFINITION]` drains the source of a
definition, by default the journal, with at most MOST appends an epoch, and prints for each the seconds from the end of
the one before, so with Spark's own part.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

from benchmarks.contenders.ours import drained, journal_of
from chronicle.project import Project


def main(work: Path, most: int, definition: str = "chronicle.yaml") -> None:
    if Project.load(work / definition).journal_path is not None:
        journal_of(work)
    epochs = drained(work / definition, most)
    print(json.dumps([after.ended - before.ended for before, after in pairwise(epochs)]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
