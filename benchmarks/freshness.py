"""How soon a lookup shows what was produced: 10,000 calls a second into a topic while the job runs as `chronicle run`
starts it; and with the Delta store, from an epoch's commit until an index that follows the table has it.

Every burst of calls ends with a probe, a number one higher than the last. A reader in this process looks the highest up
again and again; a probe is seen when that is its number or a higher one.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from kafka import KafkaProducer

from benchmarks import brokers
from benchmarks.contenders.topic import PARTITIONS
from benchmarks.contenders.work import KEYS, definition
from benchmarks.figures import Figure, progress
from benchmarks.lookups import percentile
from chronicle.errors import NotFoundError
from chronicle.kafka.bulk import send_in_bulk
from chronicle.kafka.topics import clusters_of, create_topics
from chronicle.project import Project
from views.lookup import Row, Views, connect

RATE = 10_000
"""Calls a second."""

SECONDS = 60.0
BURST_SECONDS = 0.05
LOOK_SECONDS = 0.002
PATIENCE_SECONDS = 120.0
POLL = "50ms"
WARM = int(10 / BURST_SECONDS)
"""Bursts of the first ten seconds, which are not counted: the JVM compiles."""


def run(quick: bool) -> list[Figure]:
    if quick:
        return [Figure("freshness", math.nan, "", "", "not measured at small sizes, for it takes its minutes")]
    if not brokers.can_start():
        return [Figure("freshness", math.nan, "", "", brokers.MISSING)]
    with tempfile.TemporaryDirectory() as directory, brokers.started(Path(directory)) as servers:
        return [
            *from_kafka(Path(directory) / "embedded", servers, SECONDS),
            *through_delta(Path(directory) / "delta", servers, SECONDS),
        ]


def from_kafka(work: Path, servers: str, seconds: float) -> list[Figure]:
    """From just before a probe is sent until a lookup shows it."""
    progress(f"{RATE:,} calls a second from Kafka, for {seconds:.0f} s")
    project = _project(work, servers, "fresh")
    with _running(work, "run"):
        seen = _seen(connect(project), servers, "fresh", seconds)
    what, detail = f"produced until looked up, {RATE:,} calls a second from Kafka", f"{len(seen):,} probes"
    return [
        Figure(f"{what}, p50", percentile(seen, 50), "s", "<= 0.5", detail),
        Figure(f"{what}, p99", percentile(seen, 99), "s", "<= 1.5", "the default trigger, 500 ms"),
    ]


def through_delta(work: Path, servers: str, seconds: float) -> list[Figure]:
    """The same with the Delta store, looked up in an index that follows it; and of each epoch, how old its commit was
    when the index had it."""
    progress(f"the same through Delta and a follower, for {seconds:.0f} s")
    project = _project(work, servers, "fresh-delta")
    ages: list[float] = []
    with _running(work, "run", "--store", "delta"), _running(work, "follow", "--local", "index", "--poll", POLL):
        seen = _seen(connect(project, work / "index"), servers, "fresh-delta", seconds, ages)
    what = f"produced until looked up in a follower's index, {RATE:,} calls a second"
    return [
        Figure("committed until looked up in a follower's index, p50", percentile(ages, 50), "ms", "<= 150", POLL),
        Figure("committed until looked up in a follower's index, p99", percentile(ages, 99), "ms"),
        Figure(f"{what}, p50", percentile(seen, 50), "s", "", f"{len(seen):,} probes"),
        Figure(f"{what}, p99", percentile(seen, 99), "s"),
    ]


def _project(work: Path, servers: str, topic: str) -> Project:
    work.mkdir(parents=True)
    source = f'source: {{kafka: {{servers: "{servers}", topics: [{topic}]}}}}\n'
    probes = "  probe: {from: calls, where: kind = 'probe', group_by: kind, select: {last: max(seconds)}}\n"
    (work / "chronicle.yaml").write_text(definition(source) + probes)
    project = Project.load(work / "chronicle.yaml")
    for cluster in clusters_of(project.definition):
        create_topics(cluster, PARTITIONS, replication=1)
    return project


@contextmanager
def _running(work: Path, *arguments: str) -> Iterator[None]:
    """A command in a process of its own, told to leave at the end."""
    with (work / f"{arguments[0]}.log").open("w") as log:
        command = [sys.executable, "-m", "chronicle.cli.main", *arguments]
        process = subprocess.Popen(command, cwd=work, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    if process.returncode:
        raise RuntimeError(f"chronicle {arguments[0]} ended with {process.returncode}:\n{Path(log.name).read_text()}")


def _seen(views: Views, servers: str, topic: str, seconds: float, ages: list[float] | None = None) -> list[float]:
    """The seconds that each probe took, of those after the job has warmed up; and the milliseconds since the commit of
    each epoch when it was looked up first."""
    sent: list[float] = []
    seen: list[float] = []
    over = threading.Event()
    first = threading.Event()

    def look() -> None:
        epoch = 0
        while not (over.is_set() and len(seen) == len(sent)):
            row = _found(views)
            now = time.perf_counter()
            if row is not None:
                last = row["last"]
                assert isinstance(last, int)
                seen.extend(now - sent[number] for number in range(len(seen), last))
                first.set()
                if ages is not None and row.as_of.epoch != epoch and len(seen) > WARM:
                    ages.append(row.as_of.age_ms)
                epoch = row.as_of.epoch
            time.sleep(LOOK_SECONDS)

    reader = threading.Thread(target=look, daemon=True)
    reader.start()
    _produce(servers, topic, sent, first, WARM + int(seconds / BURST_SECONDS))
    over.set()
    reader.join(PATIENCE_SECONDS)
    if reader.is_alive():
        raise RuntimeError(f"{len(seen):,} of {len(sent):,} probes were seen")
    return seen[WARM:]


def _found(views: Views) -> Row | None:
    try:
        return views["probe"].get(kind="probe")
    except NotFoundError:
        return None  # the job is only starting


def _produce(servers: str, topic: str, sent: list[float], first: threading.Event, bursts: int) -> None:
    """Bursts at a steady rate, once the first was seen; one that is late is counted from when it was due."""
    producer = KafkaProducer(bootstrap_servers=servers, enable_idempotence=True, acks="all")
    draw = Random(5).random
    began = time.perf_counter()
    for number in range(bursts):
        at = f"2026-03-01T{number // 3_600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        calls = [
            f'{{"caller":"c{int(KEYS * draw()):06}","callee":"c{int(KEYS * draw()):06}",'
            f'"seconds":{1 + int(3_600 * draw())},"kind":"local","at":"{at}"}}'.encode()
            for _ in range(int(RATE * BURST_SECONDS) - 1)
        ]
        probe = f'{{"caller":"p","callee":"p","seconds":{number + 1},"kind":"probe","at":"{at}"}}'.encode()
        due = began + number * BURST_SECONDS
        time.sleep(max(0.0, due - time.perf_counter()))
        sent.append(due)
        send_in_bulk(producer, topic, [*calls, probe], ())
        if number == 0:
            if not first.wait(PATIENCE_SECONDS):
                raise RuntimeError(f"after {PATIENCE_SECONDS:.0f} s no lookup shows the first probe")
            began = time.perf_counter()
    producer.close()
