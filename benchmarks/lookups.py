"""Lookups of single rows among many keys: in process with decode and derive, and over HTTP with keep-alive clients.

The state is filled through the state store, as the fold would leave it; then keys are asked at random.
"""

from __future__ import annotations

import http.client
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure
from calendars import TZDATA_VERSION, Calendar, parse_instant
from chronicle.project import Project
from views.checked import CheckedView
from views.lookup import connect
from views.state import Outcome, PeriodEntry, SlotStanding, State, encode_keys, layout_of, shards_of

DEFINITION = """chronicle: 1
name: telecom
shards: 4
chronicles:
  calls:
    columns: {caller: string, seconds: int64, amount: "decimal(12,2)", at: timestamp}
    chronon: at
calendars:
  month: {every: P1M, zone: America/New_York}
views:
  usage:
    from: calls
    group_by: [caller]
    select: {calls: count(*), seconds: sum(seconds), spend: sum(amount), longest: max(seconds)}
    period: {calendar: month, grace: P2D, expire_after: P13M}
    derive:
      minutes: round(seconds / 60, 1)
      discount: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      due: spend - discount
"""
CLOCK = parse_instant("2026-03-17T10:00:00Z")
CLIENTS = 4
MILLION = 1_000_000


def run(quick: bool) -> list[Figure]:
    keys = MILLION
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "chronicle.yaml"
        path.write_text(DEFINITION)
        project = Project.load(path)
        fill(project, keys)
        return [
            *_in_process(project, keys, 100_000 if quick else 500_000),
            *_http(path, keys, 2_000 if quick else 10_000),
        ]


def caller(number: int) -> str:
    return f"+1908555{number:07d}"


def fill(project: Project, keys: int) -> State:
    """One row a caller, in the month of the clock, an epoch for each million."""
    view = project.check().admitted["usage"]
    state = State.prepare(
        project.state_dir, "telecom", [layout_of(view)], [], shards=4, tzdata=TZDATA_VERSION, topics={"journal": 1}
    )
    assert view.period is not None
    assert isinstance(view.period.calendar, Calendar)
    period = view.period.calendar.period_at(CLOCK)
    assert period is not None
    entry = PeriodEntry(period.start, period.end, period.n, period.label)
    for epoch, first in enumerate(range(0, keys, MILLION), start=1):
        count = min(MILLION, keys - first)
        callers = pa.array([caller(n) for n in range(first, first + count)])
        encoded = encode_keys([view.keys[0].type], [callers], count)
        shards, columns = shards_of(encoded, state.shards), _columns(view, count)
        outcome = Outcome({0: SlotStanding(first + count, CLOCK)}, {0: {"applied": count}})
        for index in range(state.shards):
            own = np.flatnonzero(shards == index)
            picked = {name: values[own] for name, values in columns.items()}
            starts = np.full(len(own), period.start, dtype=np.int64)
            mine = encoded.take(pa.array(own))
            state.shard(index).write(
                epoch, outcome, lambda shard, k=mine, c=picked, s=starts: shard.merge(["usage"], k, c, s, [entry])
            )
    return state


def _columns(view: CheckedView, keys: int) -> dict[str, np.ndarray]:
    """The partials of a few calls by every caller, in the fields of the view's row."""
    chance = np.random.default_rng(7)
    values = {"calls.n": (1, 40), "seconds.sum.0": (60, 9_000), "spend.sum.0": (100, 9_000), "longest.value": (60, 900)}
    columns: dict[str, np.ndarray] = {}
    for name, dtype in layout_of(view).row.fields:
        low, high = values.get(name, (1, 2) if name.endswith(".present") else (0, 1))
        columns[name] = chance.integers(low, high, keys).astype(dtype)
    return columns


def _in_process(project: Project, keys: int, rounds: int) -> list[Figure]:
    taken = asked(project, keys, rounds)
    what = f"lookup of a row with decode and derive, {keys:,} keys"
    return [
        Figure(f"{what}, p50", percentile(taken, 50) / 1e3, "µs", "<= 10", f"{rounds:,} random keys"),
        Figure(f"{what}, p99", percentile(taken, 99) / 1e3, "µs", "<= 50"),
    ]


def asked(project: Project, keys: int, rounds: int) -> list[int]:
    """Nanoseconds of lookups of random keys, one by one, after some that warm up."""
    usage = connect(project)["usage"]
    chance = random.Random(7)
    random_keys = [caller(chance.randrange(keys)) for _ in range(rounds)]
    for key in random_keys[:20_000]:
        usage.get(caller=key)
    taken = []
    for key in random_keys:
        began = time.perf_counter_ns()
        row = usage.get(caller=key)
        taken.append(time.perf_counter_ns() - began)
        assert row is not None
    return taken


def _http(definition: Path, keys: int, rounds: int) -> list[Figure]:
    command = [sys.executable, "-m", "chronicle.cli.main", "serve", "--port", "0", "-f", str(definition)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[1]
            _client(address, 0, keys, 200)
            began = time.perf_counter()
            with ThreadPoolExecutor(CLIENTS) as clients:
                each = list(clients.map(lambda seed: _client(address, seed, keys, rounds), range(CLIENTS)))
            seconds = time.perf_counter() - began
        finally:
            server.terminate()
    taken = [one for client in each for one in client]
    what = f"HTTP lookup, {CLIENTS} keep-alive clients"
    rate = f"{len(taken) / seconds:,.0f} requests/s, the clients on the same cores"
    return [
        Figure(f"{what}, p50", percentile(taken, 50) / 1e6, "ms"),
        Figure(f"{what}, p99", percentile(taken, 99) / 1e6, "ms", "<= 10", rate),
    ]


def _client(address: str, seed: int, keys: int, rounds: int) -> list[int]:
    chance = random.Random(seed)
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    taken = []
    for _ in range(rounds):
        path = f"/v1/views/usage?caller=%2B{caller(chance.randrange(keys))[1:]}"
        began = time.perf_counter_ns()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        taken.append(time.perf_counter_ns() - began)
        assert answer.status == 200
    connection.close()
    return taken


def percentile(taken: Sequence[int], percent: int) -> float:
    return statistics.quantiles(taken, n=100)[percent - 1]
