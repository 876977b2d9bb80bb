"""How the cost of an append grows with everything that could make it grow, each as a curve with its exponent.

What the whole job costs (appends so far, messages in the broker) is measured of the job. The others are the kernels'
alone, map and fold with their commits, so that a growth is not hidden under what Spark costs.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from benchmarks import brokers, lookups
from benchmarks.contenders.topic import DEFINITION as FROM_KAFKA
from benchmarks.contenders.topic import fill
from benchmarks.contenders.work import make
from benchmarks.curves import Curve
from benchmarks.figures import Figure, progress
from benchmarks.kernels import Kernels
from benchmarks.processes import contend
from calendars import format_instant, parse_instant
from chronicle.definitions import load_text
from chronicle.project import Project
from views.measure import Trial
from views.state import Outcome, SlotStanding, encode_keys, shards_of

EPOCHS, LARGEST = 40, 250_000
"""How many epochs a run of the job has, or more where they would have more appends than this."""

ROUNDS = 9
DAY = 86_400_000_000
NOW = parse_instant("2026-03-17T10:00:00Z")


@dataclass(frozen=True, slots=True)
class Sizes:
    appends: int
    messages: int
    versions: tuple[int, ...]
    rows: tuple[int, ...]
    periods: tuple[int, ...]
    relations: tuple[int, ...]


def _tens(first: int, last: int) -> tuple[int, ...]:
    return tuple(10**power for power in range(first, last + 1))


QUICK = Sizes(400_000, 0, _tens(3, 5), _tens(4, 5), _tens(1, 3), _tens(2, 4))
FULL = Sizes(50_000_000, 10_000_000, _tens(3, 7), _tens(4, 7), _tens(1, 4), _tens(2, 5))


def run(quick: bool) -> list[Figure | Curve]:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        measured = [
            (appends_so_far(work / "journal", sizes.appends), {"": "<= 1.05"}),
            *((curve, {"": "<= 1.05"}) for curve in messages_in_the_broker(work / "kafka", sizes.messages)),
            (relation_versions(work / "versions", sizes.versions), {"": "<= 2"}),
            *rows_of_the_view(work / "rows", sizes.rows),
            (closed_periods(work / "periods", sizes.periods), {"": "<= 1.05"}),
            (classes(work / "classes", sizes.relations), {}),
        ]
    figures = [figure for curve, targets in measured for figure in curve.figures(targets)]
    return [*figures, *(curve for curve, _ in measured)]


def appends_so_far(work: Path, appends: int) -> Curve:
    progress(f"appends so far, to {appends:,}")
    make(work, appends, files=10)
    return _epochs("appends", "An append after how many, from the journal", "appends so far", work, appends)


def messages_in_the_broker(work: Path, messages: int) -> Iterator[Curve]:
    if not messages or not brokers.can_start():
        return
    progress(f"messages in the broker, to {messages:,}")
    make(work, messages, files=10)
    with brokers.started(work) as servers:
        fill(work, servers)
        title = "An append after how many, from Kafka"
        yield _epochs("messages", title, "messages in the broker before it", work, messages, FROM_KAFKA)


def _epochs(name: str, title: str, size: str, work: Path, appends: int, *definition: str) -> Curve:
    """Tenths of one run of the job, without the first: processes start, the JVM compiles, keys are seen first."""
    each = min(appends // EPOCHS, LARGEST)
    count = appends // each
    tenth = count // 10
    ended = contend("epochs", work, str(each), *definition)
    seconds = ended.printed  # of every epoch but the first
    costs = [statistics.median(seconds[at - 1 : at - 1 + tenth]) / each * 1e6 for at in range(tenth, count, tenth)]
    sizes = accumulate([each * tenth] * len(costs))
    points = list(zip(sizes, costs, strict=True))
    return Curve(name, title, size, "µs an append", {"": points}, f"epochs of {each:,}{ended.memory}")


JOINED = """chronicle: 1
name: joined
chronicles: {calls: {columns: {caller: string, seconds: int64, at: timestamp}, chronon: at}}
relations: {customers: {key: [number], columns: {number: string, plan: string}}}
views:
  by_plan:
    from: calls
    join: {customers: caller = number}
    group_by: [customers.plan]
    select: {calls: count(*), seconds: sum(seconds)}
"""


def relation_versions(work: Path, sizes: Sequence[int]) -> Curve:
    """Each call of an epoch is by another of all customers, so each looks one version up; the view has three rows."""
    points = []
    for size in sizes:
        progress(f"relation versions: {size:,}")
        kernels = Kernels(Project(load_text(JOINED), work / str(size)))
        for epoch, first in enumerate(range(0, size, lookups.MILLION), start=1):
            _put_customers(kernels, epoch, first, min(lookups.MILLION, size - first))
        epochs = [_calls(seed, 1_000, size, NOW) for seed in range(ROUNDS)]
        points.append((size, kernels.settled(epochs, NOW)))
        kernels.state.close()
    return Curve(
        "versions",
        "An append that joins a relation, by its versions",
        "versions of the relation",
        "µs an append",
        {"": points},
    )


def _put_customers(kernels: Kernels, epoch: int, first: int, count: int) -> None:
    layout = kernels.plan.relations["customers"].layout
    names = pa.array([lookups.caller(n) for n in range(first, first + count)])
    plans = pa.array(["basic", "family", "business"]).take(pa.array(np.arange(count) % 3))
    keys = encode_keys(layout.key_types, [names], count)
    shards = shards_of(keys, kernels.state.shards)
    for index in range(kernels.state.shards):
        ours = pa.array(np.flatnonzero(shards == index))
        rows = pa.table({"number": names.take(ours), "plan": plans.take(ours)})
        versions = (
            keys.take(ours).to_pylist(),
            np.full(len(ours), NOW - 100 * DAY),
            np.arange(len(ours)),
            np.zeros(len(ours), bool),
            rows,
        )
        kernels.state.shard(index).write(
            epoch,
            Outcome({0: SlotStanding(epoch, None)}, {}),
            lambda shard, versions=versions: shard.put_versions("customers", *versions),
        )


def _calls(seed: int, count: int, callers: int, at: int) -> list[bytes]:
    """Calls by as many distinct callers as there are, at random among all."""
    random, instant = Random(seed), format_instant(at)
    by = random.sample(range(callers), count) if count <= callers else random.choices(range(callers), k=count)
    return [
        f'{{"caller":"{lookups.caller(number)}","seconds":{number % 900},"amount":"0.50","at":"{instant}"}}'.encode()
        for number in by
    ]


def rows_of_the_view(work: Path, sizes: Sequence[int], asked: int = 100_000) -> list[tuple[Curve, dict[str, str]]]:
    """Lookups of random rows, then epochs whose calls each touch another row, evenly among all."""
    found, appended = [], []
    for size in sizes:
        progress(f"rows of the view: {size:,}")
        project = Project(load_text(lookups.DEFINITION), work / str(size))
        lookups.fill(project, size)
        taken = lookups.asked(project, size, asked)
        found.append((size, statistics.median(taken) / 1e3))
        kernels = Kernels(project)
        epochs = [_calls(seed, 10_000, size, lookups.CLOCK) for seed in range(ROUNDS)]
        appended.append((size, kernels.settled(epochs, lookups.CLOCK)))
        kernels.state.close()
    return [
        (
            Curve("rows", "An append, by the rows of the view", "rows of the view", "µs an append", {"": appended}),
            {"": "<= 3"},
        ),
        (
            Curve("lookups", "A lookup, by the rows of the view", "rows of the view", "µs a lookup", {"": found}),
            {"": "<= 2"},
        ),
    ]


DAILY = """chronicle: 1
name: daily
chronicles: {calls: {columns: {caller: string, seconds: int64, at: timestamp}, chronon: at}}
calendars: {day: {every: P1D, zone: America/New_York}}
views:
  daily: {from: calls, group_by: caller, select: {calls: count(*), seconds: sum(seconds)}, period: {calendar: day}}
"""


def closed_periods(work: Path, sizes: Sequence[int]) -> Curve:
    """Days that are over, with ten rows each; the calls are of today."""
    points = []
    for size in sizes:
        progress(f"closed periods: {size:,}")
        kernels = Kernels(Project(load_text(DAILY), work / str(size)))
        kernels.run([body for day in range(size, 0, -1) for body in _calls(day, 10, 1_000, NOW - day * DAY)], NOW)
        points.append((size, kernels.settled([_calls(seed, 10_000, 1_000, NOW) for seed in range(ROUNDS)], NOW)))
        kernels.state.close()
    return Curve("periods", "An append, by the periods that are closed", "closed periods", "µs an append", {"": points})


CLASSES = """chronicle: 1
name: classes
chronicles: {calls: {columns: {caller: string, seconds: int64, at: timestamp}, chronon: at}}
relations: {bands: {key: [least], columns: {least: int64, rate: int64}}}
views:
  constant: {from: calls, group_by: caller, select: {n: count(*)}}
  logarithmic: {from: calls, join: {bands: seconds = least}, group_by: caller, select: {n: sum(rate)}}
  linear: {from: calls, join: {bands: seconds >= least}, group_by: caller, select: {n: sum(rate)}}
"""


def classes(work: Path, sizes: Sequence[int]) -> Curve:
    """Theorem 4.5, one view of each class: SCA1, SCA-join, SCA."""
    project = Project(load_text(CLASSES))
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, view in project.check().admitted.items():
        for size in sizes:
            progress(f"{view.cls}: |R| = {size:,}")
            trial = Trial.begin(project.definition, view, work / name / str(size), size)
            least = min([trial.append(1_000) for _ in range(ROUNDS)][2:])
            lines.setdefault(f"{view.cls}, {name}", []).append((size, least / 1_000 * 1e6))
            trial.state.close()
    return Curve(
        "classes", "The classes: an append, by |R|", "rows of the relation", "µs of processor an append", lines
    )
