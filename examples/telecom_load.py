"""A telephone company's calls, made up from a seed: the load of the demo and of the benchmarks.

Calls come in the order of their instants, over several months, by customers in two zones; about one in a thousand is
malformed and about one in a thousand comes weeks late, as in life.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = ("America/New_York", "Europe/Budapest")
PLANS = ("basic", "family", "business")
KINDS = ("local", "national", "international", "internal")


def iso(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def number(customer: int) -> str:
    return f"+{customer:07d}"


def customers(count: int, seed: int = 7) -> Iterator[str]:
    """Each customer once, in force since the first of January 2026, with a billing cycle of its own."""
    chance = random.Random(seed)
    for customer in range(count):
        since = datetime(2025, chance.randint(1, 12), chance.randint(1, 28), chance.randint(0, 23), tzinfo=UTC)
        row = {
            "number": number(customer),
            "plan": chance.choice(PLANS),
            "zone": ZONES[customer % 2],
            "since": iso(since),
            "_from": iso(FIRST),
        }
        yield json.dumps(row)


def moves(count: int, at: datetime, seed: int = 8) -> Iterator[str]:
    """Some customers change to the other zone and to another plan, from `at` on."""
    chance = random.Random(seed)
    for customer in chance.sample(range(count), count // 50):
        row = {
            "number": number(customer),
            "plan": "business",
            "zone": ZONES[(customer + 1) % 2],
            "since": "2025-06-15T00:00:00Z",
            "_from": iso(at),
        }
        yield json.dumps(row)


def calls(
    count: int, customer_count: int, begin: datetime, end: datetime, seed: int = 9, faults: bool = True
) -> Iterator[str]:
    """`count` calls between `begin` and `end`; with `faults`, a few malformed and a few late."""
    chance = random.Random(seed)
    step = (end - begin) / count
    for index in range(count):
        at = begin + step * index
        row: dict[str, object] = {
            "caller": number(int(customer_count * chance.random() ** 2)),
            "callee": number(chance.randrange(customer_count)),
            "seconds": chance.randint(1, 1800),
            "amount": f"{chance.randint(1, 240) / 100:.2f}",
            "kind": KINDS[min(int(chance.expovariate(1)), 3)],
            "at": iso(at),
        }
        odd = chance.random() if faults else 1.0
        if odd < 0.0005:
            row["amount"] = "1.005"  # more digits than cents
        elif odd < 0.001:
            row["at"] = at.strftime("%Y-%m-%d %H:%M")  # no offset: which instant is this?
        elif odd < 0.002 and at - begin > timedelta(days=50):
            row["at"] = iso(at - timedelta(days=45))  # its month is long closed
        yield json.dumps(row)


def write(path: Path, lines: Iterator[str]) -> Path:
    with path.open("w") as file:
        for line in lines:
            file.write(line + "\n")
    return path
