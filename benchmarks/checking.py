"""How long a definition of many views takes to check: the whole `load` and `check`, from text to verdict."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import Figure, median_seconds
from chronicle.definitions import load
from views.check import check

HEAD = """chronicle: 1
name: many
chronicles:
  calls:
    columns: {caller: string, callee: string, seconds: int64, amount: "decimal(12,2)", kind: string, at: timestamp}
    chronon: at
relations:
  customers: {key: [number], columns: {number: string, state: string, zone: string, since: timestamp}}
calendars:
  month: {every: P1M, zone: America/New_York}
views:
"""
SHORTHAND = """  usage{n}:
    from: calls
    join: {{customers: caller = number}}
    where: kind <> 'internal' and customers.state = 'S{n}' and seconds > {n}
    group_by: [caller]
    select: {{calls: count(*), seconds: sum(seconds), spend: sum(amount)}}
    period: {{calendar: month, grace: P2D}}
    derive: {{minutes: "round(seconds / 60, 1)"}}
"""
SQL = """  spend{n}:
    sql: |
      SELECT caller, kind, count(*) AS calls, sum(amount) FILTER (WHERE seconds > {n}) AS spend
      FROM calls JOIN customers ON caller = number
      WHERE customers.state = 'S{n}' GROUP BY caller, kind
"""


def many(views: int) -> str:
    return HEAD + "".join((SHORTHAND if n % 2 else SQL).format(n=n) for n in range(views))


def run(quick: bool) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "chronicle.yaml"
        for views in (100, 1_000):
            path.write_text(many(views))
            seconds = median_seconds(lambda: _admits_all(path), rounds=1 if quick else 5)
            target = "<= 3" if views == 1_000 else ""
            figures.append(
                Figure(f"check {views:,} views", seconds, "s", target, f"{seconds / views * 1e3:.2f} ms a view")
            )
    return figures


def _admits_all(path: Path) -> None:
    verdict = check(load([path]))
    refused = [name for name, view in verdict.views.items() if view.cls is None]
    if refused or verdict.errors:
        raise AssertionError(f"not admitted: {refused[:3]} {verdict.errors[:3]}")
