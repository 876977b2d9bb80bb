"""The views in Pathway's own streaming mode, in memory and two threads, until it has counted every call.

Needs nothing of Chronicle: it runs in Pathway's environment. A stream has no end for it, so what it answers comes from
the same tables read once more as they stand.
"""

from __future__ import annotations

import csv
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pathway as pw  # type: ignore[import-not-found, unused-ignore]  # optional, in an environment of its own
from pathway.internals.parse_graph import G  # type: ignore[import-not-found, unused-ignore]

from benchmarks.contenders.work import VIEWS, Answer, report

QUIET = {"monitoring_level": pw.MonitoringLevel.NONE}


class Call(pw.Schema):  # type: ignore[misc, unused-ignore]
    caller: str
    callee: str
    seconds: int
    kind: str


def main(work: Path, servers: str) -> None:
    report(timed(work, servers), None, lambda: answers(work, servers))
    sys.stdout.flush()
    os._exit(0)  # the stream would go on for ever


def calls_of(servers: str, mode: str) -> Any:
    settings = {"bootstrap.servers": servers, "group.id": f"pathway-{time.time_ns()}", "auto.offset.reset": "earliest"}
    return pw.io.kafka.read(settings, topic="calls", schema=Call, format="json", mode=mode)


def summaries(calls: Any) -> dict[str, Any]:
    return {
        view: calls.groupby(*(calls[key] for key in keys)).reduce(
            *(calls[key] for key in keys),
            calls=pw.reducers.count(),
            total=pw.reducers.sum(calls.seconds),
            longest=pw.reducers.max(calls.seconds),
        )
        for view, keys in VIEWS.items()
    }


def timed(work: Path, servers: str) -> float:
    wanted = sum(path.read_bytes().count(b"\n") for path in work.glob("calls-*.jsonl"))
    done = threading.Event()
    calls = calls_of(servers, "streaming")
    for summary in summaries(calls).values():
        pw.io.null.write(summary)
    counted = calls.reduce(calls=pw.reducers.count())
    pw.io.subscribe(counted, lambda key, row, time, is_addition: row["calls"] >= wanted and done.set())
    began = time.perf_counter()
    threading.Thread(target=lambda: pw.run(**QUIET), daemon=True).start()
    done.wait()
    return time.perf_counter() - began


def answers(work: Path, servers: str) -> Iterator[Answer]:
    G.clear()
    for view, summary in summaries(calls_of(servers, "static")).items():
        pw.io.csv.write(summary, str(work / f"pathway-{view}.csv"))
    pw.run(**QUIET)
    for view, keys in VIEWS.items():
        with (work / f"pathway-{view}.csv").open() as file:
            yield from standing(view, keys, csv.DictReader(file))


def standing(view: str, keys: Iterable[str], changes: Iterable[dict[str, str]]) -> Iterator[Answer]:
    """What is left of a table's changes: Pathway writes a row down when it comes (1) and when it goes (-1)."""
    left: Counter[Answer] = Counter()
    for row in changes:
        found = (view, tuple(row[key] for key in keys), int(row["calls"]), int(row["total"]), int(row["longest"]))
        left[found] += int(row["diff"])
    yield from left.elements()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
