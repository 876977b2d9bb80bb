"""A group with something of everything that a crash could spoil, appends for it, and the reference's answer."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from generators.kernels import assert_same

from chronicle.journal import Journal
from chronicle.project import Project
from views.lookup import connect
from views.reference import Outcome, Record, evaluate

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
"""Whether the long campaigns are wanted (make test-deep)."""

HOUR = 3_600_000_000
FIRST = 1_769_800_000_000_000
"""2026-01-30T19:06:40Z: days, weeks and months end while the appends go on."""

DEFINITION = """
chronicle: 1
name: exact
source: {journal: journal}
state: state
shards: 3
chronicles:
  calls:
    columns: {caller: string, callee: string, seconds: int64, amount: "decimal(12,2)", at: timestamp}
    chronon: at
  payments: {columns: {payer: string, paid: "decimal(12,2)", at: timestamp}, chronon: at}
relations:
  customers:
    key: [number]
    columns: {number: string, state: string, zone: string}
  prices:
    key: [callee]
    columns: {callee: string, price: "decimal(6,2)"}
    retroactive: correct
calendars:
  month: {every: P1M, zone: America/New_York}
  moving: {every: P1D, length: P5D, zone: UTC}
  local_day: {every: P1D, zone: customers.zone}
views:
  totals: {from: calls, group_by: caller, select: {calls: count(*), seconds: sum(seconds), longest: max(seconds)}}
  monthly:
    from: calls
    join: {customers: caller = number}
    where: customers.state = 'NJ'
    group_by: caller
    select: {calls: count(*), spend: sum(amount), last_callee: last(callee)}
    period: {calendar: month, grace: P2D}
    derive: {discount: {tiers: {of: spend, mode: graduated, steps: [{above: 10, rate: 0.1}, {above: 25, rate: 0.2}]}}}
  moving: {from: calls, group_by: callee, select: {spend: sum(amount)}, period: {calendar: moving, late: next}}
  daily:
    from: calls
    join: {customers: caller = number}
    group_by: caller
    select: {calls: count(*), kinds: approx_distinct(callee)}
    period: {calendar: local_day, grace: PT6H, expire_after: P20D}
  priced:
    from: calls
    join: {prices: calls.callee = prices.callee}
    group_by: calls.callee
    select: {cost: sum(price), calls: count(*)}
  paid: {from: payments, group_by: payer, select: {paid: sum(paid), payments: count(*)}}
"""

_PEOPLE = [f"c{number}" for number in range(12)]
_ZONES = ["America/New_York", "Asia/Kathmandu", "UTC"]


def project_in(directory: Path, text: str = DEFINITION) -> Project:
    file = directory / "chronicle.yaml"
    file.write_text(text)
    return Project.load(file)


def bodies(seed: int) -> Iterator[tuple[int, bytes]]:
    """Appends without end, each with when it is taken (µs): tuples, envelopes, changes, late ones, nonsense."""
    chance = random.Random(seed)
    now = FIRST
    people = [
        {"number": each, "state": "NJ", "zone": chance.choice(_ZONES), "_from": "2025-01-01T00:00:00Z"}
        for each in _PEOPLE[:-1]
    ]
    prices = [{"callee": each, "price": "0.50", "_from": "2025-01-01T00:00:00Z"} for each in _PEOPLE]
    yield now, json.dumps({"customers": people, "prices": prices}).encode()
    while True:
        now += chance.choice([1, 1_000_000, HOUR // 4, HOUR])
        yield now, _body(chance, now)


def many_customers(count: int, width: int = 2) -> bytes:
    """An append with so many customers more, whom no call names, and whose state is so long a word."""
    customer = {"state": "N" * width, "zone": "UTC", "_from": "2030-01-01T00:00:00Z"}
    return json.dumps({"customers": [{"number": f"many{number}", **customer} for number in range(count)]}).encode()


def _body(chance: random.Random, now: int) -> bytes:
    at = _written(now - chance.choice([0, 0, 0, 0, HOUR, 60 * HOUR, 900 * HOUR, -30 * HOUR]))
    call = {
        "caller": chance.choice(_PEOPLE),
        "callee": chance.choice(_PEOPLE),
        "seconds": chance.randrange(600),
        "amount": f"{chance.randrange(2000) / 100:.2f}",
        "at": at,
    }
    form = chance.randrange(20)
    if form == 0:
        return chance.choice([b"{", b"", b'{"_chronicle": "nowhere"}', b'{"_chronicle": "calls", "caller": 1}'])
    if form == 19:
        since = _written(now - chance.choice([0, HOUR, 100 * HOUR]))
        change = {"callee": chance.choice(_PEOPLE), "price": f"{chance.randrange(300) / 100:.2f}", "_from": since}
        return json.dumps({"prices": [change]}).encode()
    if form < 3:
        since = _written(now + chance.choice([1, HOUR, 50 * HOUR, -HOUR]))
        change = {"number": chance.choice(_PEOPLE), "state": chance.choice(["NJ", "NY"]), "_from": since}
        return json.dumps({"customers": [{**change, "zone": chance.choice(_ZONES)}]}).encode()
    if form < 6:
        payment = {"payer": call["caller"], "paid": "1.25", "at": at}
        return json.dumps({"calls": [call, {**call, "callee": "c0"}], "payments": [payment]}).encode()
    return json.dumps({"_chronicle": "calls", **call}).encode()


def _written(instant: int) -> str:
    seconds, micros = divmod(instant, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{micros:06d}Z"


def append(journal: Journal, source: Iterator[tuple[int, bytes]], count: int) -> None:
    """Timestamps of a journal never go back: what comes after another source is taken when its last append was."""
    for _ in range(count):
        taken, body = next(source)
        journal.append([body], timestamp=max(taken, journal.last_timestamp or taken))


def journalled(project: Project, records: Sequence[Record]) -> list[Record]:
    """Puts these records into the project's journal, and gives them as it has them: it knows no missing value."""
    assert project.journal_path is not None
    with Journal.open(project.journal_path) as journal:
        for record in records:
            journal.append([record.value or b""], headers=tuple(record.headers), timestamp=record.timestamp)
    return records_of(project)


def records_of(project: Project) -> list[Record]:
    assert project.journal_path is not None
    with Journal.open(project.journal_path, create=False) as journal:
        return [Record(0, each.offset, each.timestamp, each.key, each.headers, each.value) for each in journal.read()]


def expected(project: Project) -> Outcome:
    return evaluate(project.definition, project.check().admitted, records_of(project))


def assert_exact(project: Project) -> None:
    """Every row, fate and refusal is the reference's for what the journal holds."""
    views = connect(project)
    try:
        assert views.state.shard(0).standing().slots[0].next_offset == len(records_of(project))
        assert_same(views, expected(project))
    finally:
        views.state.close()
