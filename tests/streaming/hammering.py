"""A process that looks rows up as fast as it can while they change, and says what it saw that cannot be."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

KEYS = 7
SECONDS = 11

DEFINITION = """
chronicle: 1
name: hammered
source: {journal: journal}
state: state
shards: 3
chronicles:
  calls: {columns: {caller: int64, seconds: int64, at: timestamp}, chronon: at}
calendars: {always: {periods: [{name: always, start: "2026-01-01", end: "2036-01-01"}]}}
views:
  totals: {from: calls, group_by: caller, select: {calls: count(*), seconds: sum(seconds)}}
  dated: {from: calls, group_by: caller, select: {calls: count(*), seconds: sum(seconds)}, period: {calendar: always}}
"""
"""The append at offset n is a call of caller n modulo KEYS, so that a row follows from the offset that it reflects."""


def hammer(definition: Path, ready: Connection, stop: Connection) -> None:
    """Looks up until told to stop; sends (lookups, states seen, faults)."""
    import chronicle

    views = chronicle.connect(definition)
    seen: dict[tuple[str, int], int] = {}
    offsets: set[int] = set()
    faults: list[str] = []
    lookups = 0
    ready.send(None)
    while not stop.poll() and not faults:
        for name in ("totals", "dated"):
            for caller in range(KEYS):
                row = views[name].get(caller=caller)
                lookups += 1
                if row is None:
                    faults += [f"{name} {caller} is gone"] if (name, caller) in seen else []
                    continue
                calls, reflected = row.values["calls"], row.as_of.offsets["journal"]["0"]
                assert isinstance(calls, int)
                if row.values["seconds"] != SECONDS * calls:
                    faults.append(f"torn: {row.values}")
                if calls != len(range(caller, reflected, KEYS)):
                    faults.append(f"{name} {caller} has {calls} calls and says that it reflects offset {reflected}")
                if calls < seen.get((name, caller), 0):
                    faults.append(f"{name} {caller} went back from {seen[name, caller]} to {calls}")
                seen[name, caller] = calls
                offsets.add(reflected)
    ready.send((lookups, len(offsets), faults))
