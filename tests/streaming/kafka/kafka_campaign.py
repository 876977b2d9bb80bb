"""A long run over a real broker in which everything fails now and then, and the reference's answer to what the topics
hold at its end."""

from __future__ import annotations

import json
import queue
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka_jobs import admin_of, project_on, send

sys.path.insert(0, str(Path(__file__).parents[1]))  # the jobs of the embedded engine's tests

from running_jobs import RunningJob, running

from chronicle.kafka.broker import Broker
from chronicle.kafka.bulk import send_in_bulk
from chronicle.project import Project
from streaming.cutting import cuts_of
from streaming.kafka_source import KafkaSource
from views.lookup import Views, connect
from views.reference import Outcome, Record, evaluate
from views.state import LEDGER_SHARD, stretches

CALLS, CRM = "calls", "crm"
PARTS: dict[str, Any] = {
    "idle": "P30D",  # however long a run takes, no slot is moved by the time of day
    "chronicles": {
        "calls": {
            "columns": {
                "caller": "string", "callee": "string", "seconds": "int64", "amount": "decimal(12,2)", "at": "timestamp"
            },
            "chronon": "at",
        }
    },
    "relations": {
        "customers": {
            "key": "number",
            "columns": {"number": "string", "state": "string"},
            "source": {"kafka": {"topic": CRM}},
        }
    },
    "calendars": {"day": {"every": "P1D"}, "moving": {"every": "P1D", "length": "P3D"}},
    "views": {
        "totals": {
            "from": "calls",
            "group_by": "caller",
            "select": {"calls": "count(*)", "seconds": "sum(seconds)", "longest": "max(seconds)"},
        },
        "daily": {
            "from": "calls",
            "group_by": "callee",
            "select": {"calls": "count(*)", "spend": "sum(amount)"},
            "period": {"calendar": "day", "grace": "P60D"},
        },
        "moving": {
            "from": "calls",
            "group_by": "callee",
            "select": {"seconds": "sum(seconds)"},
            "period": {"calendar": "moving", "grace": "P60D", "late": "next"},
        },
        "states": {
            "from": "calls",
            "join": {"customers": "caller = number"},
            "group_by": "customers.state",
            "select": {"calls": "count(*)", "spend": "sum(amount)", "last": "last(callee)"},
        },
    },
}  # fmt: skip

_FIRST = 1_772_323_200
"""2026-03-01, in seconds."""

_DAY = 86_400
_PEOPLE = 2_000
_STATES = ("NJ", "NY", "PA", "CT")
_MOST = 10_000
_CHUNK = 1_000


@dataclass(slots=True)
class Campaign:
    """`messages` into `broker` while `chronicle run` reads them, with so many faults of each kind in turn. `told` is
    what happened."""

    broker: Broker
    project: Project
    messages: int
    restarts: int
    driver_kills: int
    worker_kills: int
    seed: int
    told: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _sent: threading.Event = field(default_factory=threading.Event)
    _let: queue.Queue[int] = field(default_factory=queue.Queue)

    @classmethod
    def on(cls, broker: Broker, directory: Path, messages: int, *faults: int, seed: int = 1) -> Campaign:
        restarts, driver_kills, worker_kills = faults
        project = project_on(directory, broker.servers, [CALLS], **PARTS)
        return cls(broker, project, messages, restarts, driver_kills, worker_kills, seed)

    def run(self, *arguments: str) -> None:
        """Until every fault has happened, and everything that the topics hold has been read."""
        chance = random.Random(self.seed)
        faults = ["restart"] * self.restarts + ["driver"] * self.driver_kills + ["workers"] * self.worker_kills
        chance.shuffle(faults)
        for turn in (1, 2):
            faults.insert(turn * len(faults) // 3, "partition")
        with ExitStack() as jobs, self._sending():
            job = self._started(jobs, arguments)
            for number, fault in enumerate(faults, start=1):
                seen = len(job.epochs)
                self._until(self.messages * number // (len(faults) + 1))
                job.wait_for_epochs(seen + 1)
                time.sleep(chance.random() * 0.3)  # where in an epoch it happens is the point, and left to chance
                if fault == "restart":
                    (self.broker.kill if chance.random() < 0.5 else self.broker.stop)()
                    self.broker.start()
                elif fault == "partition":
                    self._add_partition()
                elif fault == "workers":
                    while not (killed := job.kill_workers(chance, chance.randrange(1, 3))):
                        time.sleep(0.01)  # those of the last time are not yet replaced
                    fault = f"{killed} workers"
                else:
                    (job.kill_driver if chance.random() < 0.3 else job.kill_group)()
                    job = self._started(jobs, arguments)
                self._tell(fault)
            self._until(self.messages)
            assert self._sent.wait(3600)
            self._end()
            views = connect(self.project)
            while not self._is_drained(views):
                assert job.process.poll() is None, job.output()
                time.sleep(0.5)
            assert job.terminate() == 0, job.output()

    def _tell(self, what: str) -> None:
        """Also while it runs: what a long run came to is then known, however it ends."""
        self.told.append(what)
        print(f"{time.monotonic() - self._began:.0f} s: {what}", flush=True)

    def _is_drained(self, views: Views) -> bool:
        standing, slots = views.state.shard(LEDGER_SHARD).standing(), views.state.meta.slots
        done = {slots[slot]: at.next_offset for slot, at in standing.slots.items()}
        held = KafkaSource.of(self.project.definition).extents()
        return all(done.get(slot) == extent.next for slot, extent in held.items())

    def _started(self, jobs: ExitStack, arguments: tuple[str, ...]) -> RunningJob:
        directory = self.project.state_dir.parent
        return jobs.enter_context(running(directory, "--trigger", "0ms", "--max-batch", str(_MOST), *arguments))

    def _add_partition(self) -> None:
        with admin_of(self.broker.servers) as admin:
            (described,) = admin.describe_topics([CALLS])
            admin.create_partitions({CALLS: len(described["partitions"]) + 1})

    def _end(self) -> None:
        """A message of the last day into every partition: each has one, and all clocks are the same."""
        with admin_of(self.broker.servers) as admin:
            (described,) = admin.describe_topics([CALLS])
        last = call_at("last", _FIRST + 41 * _DAY)
        send(self.broker.servers, [(CALLS, at, last, ()) for at in range(len(described["partitions"]))])

    def _until(self, end: int) -> None:
        """Lets the messages up to this one be sent, so that there are some for every fault."""
        self._let.put(end)

    @contextmanager
    def _sending(self) -> Iterator[None]:
        thread = threading.Thread(target=self._send, daemon=True)
        thread.start()
        yield
        thread.join()

    def _send(self) -> None:
        """A broker that dies may have taken some of a chunk, all or nothing: what it has is what counts."""
        chance = random.Random(self.seed)
        begun = 0
        producer: KafkaProducer | None = None
        for end in self._ends():
            chunk = [_call(chance, number, self.messages) for number in range(begun, end)]
            changes = [_change(chance, begun, self.messages) for _ in range(3)]
            try:
                producer = producer or _producer(self.broker.servers)
                for change in changes:
                    producer.send(CRM, value=change).get(60)
                send_in_bulk(producer, CALLS, chunk, ())
            except (KafkaError, OSError):
                self._tell("a chunk in doubt")
                producer = None
            begun = end
        self._sent.set()

    def _ends(self) -> Iterator[int]:
        """Where chunks end: at most _CHUNK messages each."""
        at = 0
        while at < self.messages:
            let = self._let.get()
            while at < let:
                at = min(at + _CHUNK, let)
                yield at


def _producer(servers: str) -> KafkaProducer:
    """It hears of new partitions within a moment."""
    return KafkaProducer(bootstrap_servers=servers, enable_idempotence=True, metadata_max_age_ms=1000)


def _call(chance: random.Random, number: int, messages: int) -> bytes:
    """Time goes on by 40 days in all; some are much too late, and some are nothing."""
    at = _FIRST + number * 40 * _DAY // messages - chance.randrange(1800)
    kind = chance.randrange(200)
    if kind == 0:
        return b'{"caller": "c1"'
    if kind == 1:
        at -= 200 * _DAY
    caller, callee = chance.randrange(_PEOPLE), chance.randrange(50)
    return call_at(f"c{caller}", at, f"d{callee}", chance.randrange(600), chance.randrange(10_000))


def call_at(caller: str, at: int, callee: str = "d0", seconds: int = 1, amount: int = 1) -> bytes:
    return (
        f'{{"caller":"{caller}","callee":"{callee}","seconds":{seconds},"amount":"{amount / 100:.2f}",'
        f'"at":"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z"}}'
    ).encode()


def _change(chance: random.Random, number: int, messages: int) -> bytes:
    """Most are from tomorrow on; what comes too late is retroactive."""
    since = _FIRST + number * 40 * _DAY // messages + chance.choice([1, 1, 1, -1]) * _DAY
    row = {"number": f"c{chance.randrange(_PEOPLE)}", "state": chance.choice(_STATES)}
    return json.dumps({**row, "_from": f"{datetime.fromtimestamp(since, UTC):%Y-%m-%dT%H:%M:%S}Z"}).encode()


def customers() -> list[bytes]:
    """What the relation holds before anything is read."""
    return [
        json.dumps({"number": f"c{n}", "state": _STATES[n % 4], "_from": "2025-01-01T00:00:00Z"}).encode()
        for n in range(_PEOPLE - 100)
    ]


def expected(views: Views, servers: str) -> Outcome:
    """The reference's answer to everything that the topics hold, cut into epochs as the state says they were."""
    state = replace(views.state, home=views.home)  # of a Delta state the shards are an index elsewhere
    slots = state.meta.slots
    held = {
        number: _records(servers, number, TopicPartition(slot.topic, slot.partition))
        for number, slot in enumerate(slots)
    }
    ends = {slot: at.next_offset for slot, at in state.shard(LEDGER_SHARD).standing().slots.items()}
    assert ends == {slot: len(records) for slot, records in held.items()}
    ordered: list[Record] = []
    cuts: set[int] = set()
    for stretch in stretches(cuts_of(state), ends):
        cuts.add(len(ordered))
        for slot, (first, last) in sorted(stretch.ranges.items()):
            ordered += held[slot][first:last]
    return evaluate(views.project.definition, views.project.check().admitted, ordered, cuts)


def _records(servers: str, slot: int, place: TopicPartition) -> list[Record]:
    """The reference knows no topics: that a change is one, a header says to it."""
    headers = (("chronicle", b"customers"),) if place.topic == CRM else ()
    consumer = KafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed", max_poll_records=20_000)
    try:
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        end = consumer.end_offsets([place])[place]
        found: list[Record] = []
        while len(found) < end:
            for message in consumer.poll(1000).get(place, ()):
                found.append(Record(slot, message.offset, message.timestamp * 1000, None, headers, message.value))
        return found
    finally:
        consumer.close()
