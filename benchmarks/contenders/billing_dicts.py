"""A loop in Python with a dict a view, bisection for the version in force and thirty rows of each call: the floor."""

from __future__ import annotations

import sys
import time
from bisect import bisect
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import orjson

from benchmarks.contenders.billing import VIEWS, ZONE
from benchmarks.contenders.work import Answer, report

Rows = dict[tuple[str, ...], list[int]]


def main(work: Path) -> None:
    began, zone = time.perf_counter(), ZoneInfo(ZONE)
    states = versions(work)
    found: dict[str, Rows] = {view: {} for view in VIEWS}
    days: dict[str, list[str]] = {}
    for path in sorted(work.glob("calls-*.jsonl")):
        for line in path.read_bytes().splitlines():
            call = orjson.loads(line)
            caller, seconds, at = call["caller"], call["seconds"], call["at"]
            since, state = states[caller]
            if state[bisect(since, at) - 1] == "NJ":
                add(found["jersey"], (caller,), seconds)
            today = datetime.fromisoformat(at).astimezone(zone).date()
            if (day := today.isoformat()) not in days:
                days[day] = [(today - timedelta(days=back)).isoformat() for back in range(30)]
            add(found["monthly"], (caller, day[:7]), seconds)
            for start in days[day]:
                add(found["moving"], (caller, start), seconds)
    taken = time.perf_counter() - began

    def answers() -> Iterator[Answer]:
        for view, rows in found.items():
            for key, (calls, total, longest) in rows.items():
                yield view, key, calls, total, longest

    report(taken, None, answers)


def versions(work: Path) -> dict[str, tuple[list[str], list[str]]]:
    found: dict[str, tuple[list[str], list[str]]] = {}
    for line in (work / "customers.jsonl").read_bytes().splitlines():
        change = orjson.loads(line)
        since, state = found.setdefault(change["number"], ([], []))
        since.append(change["_from"])
        state.append(change["state"])
    return found


def add(rows: Rows, key: tuple[str, ...], seconds: int) -> None:
    row = rows.get(key)
    if row is None:
        rows[key] = [1, seconds, seconds]
    else:
        row[0] += 1
        row[1] += seconds
        row[2] = max(row[2], seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
