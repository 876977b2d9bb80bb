"""Ours, epoch by epoch: `python -m benchmarks.contenders.epochs WORK MOST` drains the journal with at most MOST appends
an epoch and prints for each the seconds from the end of the one before, so with Spark's own part.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

from benchmarks.contenders.ours import drained, journal_of


def main(work: Path, most: int) -> None:
    journal_of(work)
    epochs = drained(work / "chronicle.yaml", most)
    print(json.dumps([after.ended - before.ended for before, after in pairwise(epochs)]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
