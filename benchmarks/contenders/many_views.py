"""Ours with many views that differ in constants only; an append affects three of them.

`python -m benchmarks.contenders.many_views WORK VIEWS` prints the seconds to check and to compile them, the bytes
resident once they have run, and the microseconds of an append.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from pathlib import Path
from random import Random

from benchmarks.kernels import Kernels
from calendars import format_instant, parse_instant
from chronicle.project import Project

APPENDS = 10_000
CALLERS = 1_000_000
"""So many that hardly two calls of an epoch touch the same row: an epoch has the same work however many views there are."""

ROUNDS = 7
PATIENCE_SECONDS = 30
NOW = parse_instant("2026-03-17T10:00:00Z")
HEAD = """chronicle: 1
name: many
chronicles:
  calls:
    columns: {caller: string, caller_group: int64, seconds: int64, at: timestamp}
    chronon: at
views:
"""


def definition(views: int) -> str:
    """Three views for each group of callers; a call of a group is long enough for all three."""
    return HEAD + "".join(
        f"  v{n}: {{from: calls, where: caller_group = {n // 3} and seconds > {10 * (n % 3 + 1)}, group_by: caller, "
        "select: {calls: count(*), seconds: sum(seconds)}}\n"
        for n in range(views)
    )


def calls(seed: int, views: int) -> list[bytes]:
    draw, rest = Random(seed).randrange, f'"seconds":931,"at":"{format_instant(NOW)}"}}'
    return [f'{{"caller":"c{draw(CALLERS)}","caller_group":{draw(views // 3)},{rest}'.encode() for _ in range(APPENDS)]


def main(work: Path, views: int) -> None:
    path = work / f"views-{views}.yaml"
    path.write_text(definition(views))
    began = time.perf_counter()
    project = Project.load(path, state=work / f"views-{views}")
    admitted = project.check().admitted
    checked = time.perf_counter() - began
    assert len(admitted) == views
    kernels = Kernels(project)
    compiled = time.perf_counter() - began - checked
    cost = appended(kernels, views)
    gc.collect()
    print(json.dumps({"check": checked, "compile": compiled, "resident": resident(), "cost": cost}))


def appended(kernels: Kernels, views: int) -> float:
    """Microseconds of an append: the median of some epochs without the first, or of one where that takes too long."""
    began, costs = time.perf_counter(), []
    while len(costs) < ROUNDS and (not costs or time.perf_counter() - began < PATIENCE_SECONDS):
        costs.append(kernels.run(calls(len(costs), views), NOW) / APPENDS * 1e6)
    return statistics.median(costs[1:] or costs)


def resident() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
