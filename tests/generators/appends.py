"""Random records for the drawn schema: in time, late, future, retroactive, malformed, delivered twice, in envelopes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from views.reference import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 1, 30, 22, tzinfo=UTC)
"""When the first record is taken: near the end of a day, a week and a month, and before every change to summer time."""

_STEPS = [timedelta(hours=hours, seconds=1) for hours in (0, 1, 11, 24, 24, 200)]
_LAGS = [timedelta(days=days) for days in (0, 0, 0, 2, 8, 40)]
_LEADS = [timedelta(minutes=59), timedelta(hours=2), timedelta(days=3)]
_CHANGES_FROM = [timedelta(days=d) for d in (-60, -30, -1, 0, 1, 12)]
_ZONES = ["America/New_York", "Europe/Berlin", "Asia/Kathmandu", None]
_SINCE = ["2026-01-31T15:00:00Z", "2025-11-12T05:30:00Z", None]
_PEOPLE = ["c1", "c2", "c3", "ä€"]
_KINDS = ["day", "night", None]

_person = st.sampled_from(_PEOPLE)
_small = st.integers(-2, 12)
_money = st.integers(-500, 5000).map(lambda cents: f"{cents / 100:.2f}")
_double = st.none() | st.integers(-40, 40).map(lambda n: n / 8)
Item = dict[str, Any]


def _written(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


@st.composite
def _call(draw: st.DrawFn, at: datetime) -> Item:
    return {
        "caller": draw(_person),
        "callee": draw(_person),
        "seconds": draw(_small),
        "amount": draw(_money),
        "kind": draw(st.sampled_from(_KINDS)),
        "load": draw(_double),
        "at": _written(at),
    }


@st.composite
def _payment(draw: st.DrawFn, at: datetime) -> Item:
    return {
        "payer": draw(_person),
        "points": draw(_small),
        "paid": draw(_money),
        "method": draw(st.sampled_from(_KINDS)),
        "weight": draw(_double),
        "at": _written(at),
    }


@st.composite
def _change(draw: st.DrawFn, now: datetime) -> tuple[str, Item]:
    when = draw(st.none() | st.sampled_from(_CHANGES_FROM))
    stamp = {} if when is None else {"_from": _written(now + when)}
    deletes = not draw(st.integers(0, 4))
    if draw(st.integers(0, 2)):
        key: Item = {"number": draw(_person)}
        rest = {
            "state": draw(st.sampled_from(["NJ", "NY"])),
            "plan": draw(st.sampled_from(_KINDS)),
            "zone": draw(st.sampled_from(_ZONES)),
            "since": draw(st.sampled_from(_SINCE)),
        }
        name = "customers"
    else:
        key = {"plan": draw(st.sampled_from(["day", "night"])), "least": draw(st.sampled_from([0, 3, 5]))}
        rest = {"price": draw(st.sampled_from(["0.100", "2.250"]))}
        name = "bands"
    return name, {**({"_op": "delete"} if deletes else rest), **key, **stamp}


_MALFORMED: list[bytes | None] = [
    None,
    b"",
    b"{",
    b"[]",
    b'{"_chronicle": "nowhere"}',
    b'{"_chronicle": "calls", "caller": "c1"}',
    b'{"calls": [{"caller": 3}]}',
    b'{"payments": [], "unknown": [{}]}',
    b'{"calls": [{"caller": "c1", "callee": "c2", "seconds": 1, "amount": "1.234", "at": "2026-02-01T00:00:00Z"}]}',
    b'{"calls": [{"caller": "c1", "callee": "c2", "seconds": 1, "amount": "1.23", "at": "2026-02-01T00:00:00"}]}',
    b'{"customers": [{"number": "c1", "_op": "merge"}]}',
    b"\xff",
]


@st.composite
def _body(draw: st.DrawFn, now: datetime) -> bytes | None:
    """Mostly one tuple, often an envelope, sometimes a change alone, sometimes nonsense."""
    form = draw(st.sampled_from(["tuple", "tuple", "tuple", "envelope", "envelope", "change", "change", "malformed"]))
    at = now - draw(st.sampled_from(_LAGS)) if draw(st.integers(0, 7)) else now + draw(st.sampled_from(_LEADS))
    match form:
        case "malformed":
            return draw(st.sampled_from(_MALFORMED))
        case "tuple":
            name = draw(st.sampled_from(["calls", "payments"]))
            item = draw(_call(at) if name == "calls" else _payment(at))
            return json.dumps({"_chronicle": name, **item}, ensure_ascii=False).encode()
        case "change":
            name, change = draw(_change(now))
            return json.dumps({name: [change]}, ensure_ascii=False).encode()
    envelope: dict[str, list[Item]] = {
        "calls": draw(st.lists(_call(at), max_size=3)),
        "payments": draw(st.lists(_payment(at), max_size=2)),
    }
    if not draw(st.integers(0, 3)):
        name, change = draw(_change(now))
        envelope[name] = [change]
    return json.dumps(envelope, ensure_ascii=False).encode()


@st.composite
def appends(draw: st.DrawFn, *, max_records: int = 25, duplicates: bool = False) -> list[Record]:
    """The records of slot 0 from offset 0 on; real time only goes forward."""
    now = START
    records = [_record(0, now, draw(_prologue()))]
    for offset in range(1, draw(st.sampled_from([max_records, max_records // 2, 3, 1]))):
        now += draw(st.sampled_from(_STEPS))
        records.append(_record(offset, now, draw(_body(now))))
        if duplicates and not draw(st.integers(0, 5)):
            records.append(draw(st.sampled_from(records)))
    return records


def _record(offset: int, now: datetime, value: bytes | None) -> Record:
    return Record(0, offset, (now - _EPOCH) // timedelta(microseconds=1), None, (), value)


@st.composite
def _prologue(draw: st.DrawFn) -> bytes:
    """Relations with something in them, so that joins find versions: all people but the last, and all bands."""
    since = {"_from": "2025-06-01T00:00:00Z"}
    people = [
        {
            "number": number,
            "state": draw(st.sampled_from(["NJ", "NY"])),
            "plan": draw(st.sampled_from(_KINDS)),
            "zone": draw(st.sampled_from(_ZONES)),
            "since": draw(st.sampled_from(_SINCE)),
            **since,
        }
        for number in _PEOPLE[:-1]
    ]
    bands = [{"plan": plan, "least": least, "price": "1.500", **since} for plan in ("day", "night") for least in (0, 5)]
    return json.dumps({"customers": people, "bands": bands}).encode()
