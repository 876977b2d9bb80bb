"""A loop in Python over the same files, with a dict a view: the floor. No state on disk, one core."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.contenders.work import VIEWS, Answer, report


def main(work: Path) -> None:
    began = time.perf_counter()
    found: dict[str, dict[tuple[str, ...], list[int]]] = {view: {} for view in VIEWS}
    for path in sorted(work.glob("calls-*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                call = orjson.loads(line)
                seconds = call["seconds"]
                for view, keys in VIEWS.items():
                    rows, key = found[view], tuple(call[name] for name in keys)
                    row = rows.get(key)
                    if row is None:
                        rows[key] = [1, seconds, seconds]
                    else:
                        row[0] += 1
                        row[1] += seconds
                        row[2] = max(row[2], seconds)
    taken = time.perf_counter() - began

    def answers() -> Iterator[Answer]:
        for view, rows in found.items():
            for key, (calls, total, longest) in rows.items():
                yield view, key, calls, total, longest

    report(taken, None, answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
