"""A telephone company's calls, made up from a seed: the load of the demo.

Calls come in the order of their instants, over several months, by customers in two zones. As in life, some come
minutes after they were made, some weeks after, a few are malformed, and one telephone's calendar is decades ahead.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
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
        yield _customer(customer, chance.choice(PLANS), ZONES[customer % 2], since, FIRST)


def moved(count: int, seed: int = 8) -> list[int]:
    """The customers who will move: one in fifty."""
    return sorted(random.Random(seed).sample(range(count), max(1, count // 50)))


def moves(count: int, at: datetime) -> Iterator[str]:
    """Who moves goes to the other zone and to another plan, from `at` on."""
    since = datetime(2025, 6, 15, tzinfo=UTC)
    for customer in moved(count):
        yield _customer(customer, "business", ZONES[(customer + 1) % 2], since, at)


def _customer(customer: int, plan: str, zone: str, since: datetime, valid_from: datetime) -> str:
    row = {"number": number(customer), "plan": plan, "zone": zone, "since": iso(since), "_from": iso(valid_from)}
    return json.dumps(row)


def calls(count: int, customer_count: int, begin: datetime, end: datetime, seed: int = 9) -> Iterator[str]:
    """`count` calls between `begin` and `end`, by and to customers below `customer_count`."""
    draw = random.Random(seed).random
    step = (end - begin) / count
    bad = {count - 30: _more_digits_than_cents, count - 20: _no_offset, count - 10: _decades_ahead}
    for index in range(count):
        at, cents, odd = begin + step * index, 1 + int(240 * draw()), draw()
        amount, instant = f"{cents // 100}.{cents % 100:02}", iso(at)
        if index in bad:
            amount, instant = bad[index](amount, at)
        elif odd < 0.0005 and at - FIRST > timedelta(days=45):
            instant = iso(at - timedelta(days=40))  # its month is long closed
        elif odd < 0.002:
            instant = iso(at - timedelta(minutes=20))  # in time, with two days of grace
        caller, callee = number(int(customer_count * draw())), number(int(customer_count * draw()))
        yield (
            f'{{"caller": "{caller}", "callee": "{callee}", '
            f'"seconds": {1 + int(1800 * draw() ** 2)}, "amount": "{amount}", "kind": "{KINDS[int(4 * draw() ** 2)]}", '
            f'"at": "{instant}"}}'
        )


def _more_digits_than_cents(amount: str, at: datetime) -> tuple[str, str]:
    return f"{amount}5", iso(at)


def _no_offset(amount: str, at: datetime) -> tuple[str, str]:
    return amount, at.strftime("%Y-%m-%d %H:%M")  # which instant is this?


def _decades_ahead(amount: str, at: datetime) -> tuple[str, str]:
    return amount, iso(at.replace(year=2062))


def write(path: Path, lines: Iterable[str]) -> Path:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path
