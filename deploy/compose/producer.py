"""A call every tenth of a second, for ever, one JSON line each: `python producer.py | chronicle append calls`."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime


def calls(seed: int, customers: int = 1000) -> Iterator[dict[str, object]]:
    chance = random.Random(seed)
    while True:
        caller, callee = chance.sample(range(customers), 2)
        seconds = int(chance.expovariate(1 / 180)) + 1
        yield {
            "caller": f"+{caller:07d}",
            "callee": f"+{callee:07d}",
            "seconds": seconds,
            "amount": f"{seconds * 0.01:.2f}",
            "kind": chance.choice(("local", "national", "international")),
            "at": datetime.now(UTC).isoformat(),
        }


if __name__ == "__main__":
    for call in calls(seed=7):
        print(json.dumps(call), flush=True)
        time.sleep(0.1)
