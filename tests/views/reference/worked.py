"""Worked examples: a definition as text, appends as JSON with the instant at which they were taken."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from calendars import parse_instant
from chronicle.definitions import load_text
from chronicle.types import Value
from views.check import check
from views.reference import Outcome, Record, evaluate

HEAD = "chronicle: 1\nname: worked\n"


def taken(at: str, body: dict[str, Any] | bytes | None, *, slot: int = 0) -> tuple[int, int, bytes | None]:
    """A message that its source took at this instant."""
    value = json.dumps(body).encode() if isinstance(body, dict) else body
    return slot, parse_instant(at), value


def outcome(text: str, *messages: tuple[int, int, bytes | None], epochs: Collection[int] = ()) -> Outcome:
    """What the reference makes of the messages, each with the next offset of its slot."""
    loaded = load_text(HEAD + text)
    verdict = check(loaded)
    assert loaded.definition is not None, loaded.all_faults
    assert not verdict.errors, verdict.errors
    assert not [view.refusals for view in verdict.views.values() if view.refusals]
    offsets: dict[int, int] = {}
    records = []
    for slot, timestamp, value in messages:
        offset = offsets[slot] = offsets.get(slot, -1) + 1
        records.append(Record(slot, offset, timestamp, None, (), value))
    return evaluate(loaded.definition, verdict.admitted, records, epochs)


def rows(result: Outcome, view: str) -> list[dict[str, Value]]:
    """The rows of a view by period and key, each with the columns it has."""
    return [row for _, row in sorted(result.rows[view].items(), key=lambda item: repr(item[0]))]


def column(result: Outcome, view: str, name: str) -> dict[Any, Value]:
    """One column of a view without periods, by key (the bare value where the key is one column)."""
    return {at.key[0] if len(at.key) == 1 else at.key: row[name] for at, row in result.rows[view].items()}


def by_start(result: Outcome, view: str, name: str) -> dict[int | None, Value]:
    """One column of a view with one group, by the start of its period."""
    return {at.start: row[name] for at, row in result.rows[view].items()}


def fates(result: Outcome) -> list[str]:
    return [fate for _, fate in result.fate_of]
