"""Work with time in it, for who can say it: calls joined with the customer as he was then (ten versions each), months
in a zone, and thirty days of that zone moving by one. Each view has calls, seconds and the longest call of a caller.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks.contenders.work import FILES

CALLERS = 1_000
VERSIONS = 10
DAYS = 120
ZONE = "America/New_York"
START = datetime(2026, 1, 15, tzinfo=UTC)
"""The calls go over the change to summer time, where a month and thirty days are an hour short."""

VIEWS = ("jersey", "monthly", "moving")
DEFINITION = f"""chronicle: 1
name: billing
chronicles: {{calls: {{columns: {{caller: string, seconds: int64, at: timestamp}}, chronon: at}}}}
relations: {{customers: {{key: [number], columns: {{number: string, state: string}}}}}}
calendars:
  month: {{every: P1M, zone: {ZONE}}}
  moving30: {{every: P1D, length: P30D, zone: {ZONE}}}
views:
  jersey:
    from: calls
    join: {{customers: caller = number}}
    where: customers.state = 'NJ'
    group_by: [caller]
    select: {{calls: count(*), seconds: sum(seconds), longest: max(seconds)}}
  monthly:
    from: calls
    group_by: [caller]
    select: {{calls: count(*), seconds: sum(seconds), longest: max(seconds)}}
    period: {{calendar: month}}
  moving:
    from: calls
    group_by: [caller]
    select: {{calls: count(*), seconds: sum(seconds), longest: max(seconds)}}
    period: {{calendar: moving30}}
"""


def make(directory: Path, calls: int) -> None:
    """The calls in files in the order of their instants, the versions of the customers, and the definition."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "chronicle.yaml").write_text(DEFINITION)
    random = Random(12)
    with (directory / "customers.jsonl").open("w") as file:
        for since, number in sorted(
            (START + timedelta(seconds=at), number)
            for number in range(CALLERS)
            for at in [-1, *random.sample(range(DAYS * 86_400), VERSIONS - 1)]
        ):
            state = random.choice(("NJ", "NY"))
            file.write(f'{{"number":"c{number:04}","state":"{state}","_from":"{since:%Y-%m-%dT%H:%M:%SZ}"}}\n')
    each, step = calls // FILES, DAYS * 86_400 / calls
    for part in range(FILES):
        with (directory / f"calls-{part:03}.jsonl").open("w") as file:
            for index in range(part * each, (part + 1) * each):
                at = START + timedelta(seconds=int(index * step))
                file.write(
                    f'{{"caller":"c{random.randrange(CALLERS):04}","seconds":{1 + random.randrange(3600)},'
                    f'"at":"{at:%Y-%m-%dT%H:%M:%SZ}"}}\n'
                )
