"""Calendars of every kind, and instants near where they could go wrong: what the laws are tried on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from calendars import MAX_INSTANT, MIN_INSTANT, Calendar, parse_calendar, parse_instant
from calendars.civil import DAY, HOUR

ZONES = (
    "UTC",
    "America/New_York",
    "Europe/Budapest",
    "Africa/Cairo",  # midnight does not exist once a year
    "Pacific/Apia",  # skipped 2011-12-30
    "Pacific/Kwajalein",  # skipped 1993-08-21
    "Asia/Manila",  # skipped 1844-12-31
    "America/Juneau",  # had 1867-10-18 twice
    "Australia/Lord_Howe",  # half an hour of summer time
    "America/Nuuk",  # changes on a Saturday evening, after 24:00 by the rule
    "America/Sao_Paulo",
    "Africa/Casablanca",
)

SPECS: dict[str, dict[str, Any]] = {
    "years": {"every": "P1Y", "zone": "America/New_York"},
    "quarters": {"every": "P3M"},
    "months": {"every": "P1M", "zone": "America/New_York"},
    "months from the 31st": {"every": "P1M", "anchor": "2025-01-31T00:00:00", "zone": "America/New_York"},
    "months from an instant": {"every": "P1M", "anchor": "2025-01-31T15:00:00Z", "zone": "Asia/Tokyo"},
    "months into the gap": {"every": "P1M", "anchor": "2025-01-09T02:30:00", "zone": "America/New_York"},
    "leap years": {"every": "P1Y", "anchor": "2024-02-29T00:00:00"},
    "months and days": {"every": "P1M15D", "anchor": "2025-01-31T00:00:00"},
    "weeks": {"every": "P1W", "zone": "Europe/Budapest"},
    "fortnights": {"every": "P2W", "anchor": "2025-01-03T18:00:00"},
    "days": {"every": "P1D", "zone": "Africa/Cairo"},
    "days where one was skipped": {"every": "P1D", "zone": "Pacific/Apia"},
    "days where one came twice": {"every": "P1D", "zone": "America/Juneau"},
    "hours": {"every": "PT1H", "zone": "America/New_York"},
    "odd seconds": {"every": "PT86399.5S", "anchor": "2025-01-01T00:00:00"},
    "moving 30 days": {"every": "P1D", "length": "P30D", "zone": "America/New_York"},
    "moving 30 days where one was skipped": {"every": "P1D", "length": "P30D", "zone": "Pacific/Apia"},
    "moving 90 minutes": {"every": "PT1H", "length": "PT90M"},
    "moving 36 hours by days": {"every": "P1D", "length": "PT36H", "zone": "Europe/Budapest"},
    "moving quarters": {"every": "P1M", "length": "P3M", "anchor": "2025-01-31T00:00:00"},
    "office hours": {"every": "P1D", "anchor": "2025-01-01T08:00:00", "length": "PT9H", "zone": "America/New_York"},
    "four weeks of a month": {"every": "P1M", "length": "P28D", "zone": "America/New_York"},
    "half minutes": {"every": "PT1M", "length": "PT30S"},
    "fiscal years": {
        "fiscal": {
            "pattern": "4-5-4",
            "year_end": {"weekday": "saturday", "rule": "nearest", "month": 1},
            "every": "year",
        },
        "zone": "America/New_York",
    },
    "fiscal quarters": {
        "fiscal": {
            "pattern": "13x4",
            "year_end": {"weekday": "sunday", "rule": "last", "month": 12},
            "every": "quarter",
        }
    },
    "fiscal months": {
        "fiscal": {
            "pattern": "4-4-5",
            "year_end": {"weekday": "saturday", "rule": "last", "month": 9},
            "every": "month",
            "named": "end",
        }
    },
    "fiscal weeks": {
        "fiscal": {
            "pattern": "5-4-4",
            "year_end": {"weekday": "friday", "rule": "nearest", "month": 6},
            "every": "week",
        },
        "zone": "Africa/Cairo",
    },
    "boundaries": {
        "boundaries": ["2025-01-01", "2025-01-15T12:00:00", "2025-01-15T18:00:00", "2025-03-09T02:30:00", "2026-01-01"],
        "zone": "America/New_York",
    },
    "named periods": {
        "periods": [
            {"name": "spring", "start": "2025-03-01", "end": "2025-06-01"},
            {"name": "sale", "start": "2025-05-20T09:00:00", "end": "2025-06-10T18:00:00"},
            {"name": "winter", "start": "2025-12-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"},
        ],
        "zone": "Europe/Budapest",
    },
}

CALENDARS: dict[str, Calendar] = {name: parse_calendar(spec) for name, spec in SPECS.items()}
TILING = [
    name
    for name, spec in SPECS.items()
    if "fiscal" in spec or ("every" in spec and spec.get("length", spec["every"]) == spec["every"])
]
"""Those in which every instant is in exactly one period."""
LISTED = ("boundaries", "named periods")

EVENTFUL = [
    parse_instant(text)
    for text in (
        "0001-01-01T00:00:00Z",
        "1844-12-31T00:00:00Z",
        "1867-10-18T12:00:00Z",
        "1883-11-18T17:00:00Z",
        "1993-08-21T12:00:00Z",
        "2011-12-30T10:00:00Z",
        "2024-02-29T00:00:00Z",
        "2025-03-09T07:00:00Z",
        "2025-04-24T22:00:00Z",
        "2025-11-02T06:00:00Z",
        "2099-12-31T23:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    )
]

instants: st.SearchStrategy[int] = st.one_of(
    st.integers(MIN_INSTANT, MAX_INSTANT),
    st.integers(parse_instant("2024-06-01T00:00:00Z"), parse_instant("2026-06-01T00:00:00Z")),
    st.tuples(st.sampled_from(EVENTFUL), st.sampled_from((1, HOUR, DAY)), st.integers(-50, 50)).map(
        lambda drawn: min(max(drawn[0] + drawn[1] * drawn[2], MIN_INSTANT), MAX_INSTANT)
    ),
)
calendars = st.sampled_from(sorted(CALENDARS)).map(CALENDARS.__getitem__)
