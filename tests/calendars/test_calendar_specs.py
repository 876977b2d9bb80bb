"""Bad specs are refused with the reason, and with the path that leads to the offending value."""

from __future__ import annotations

from typing import Any

import pytest

from calendars import CalendarError, KeyedCalendar, parse_calendar, parse_duration, parse_instant
from calendars.durations import Duration

YEAR_END = {"weekday": "saturday", "rule": "last", "month": 9}


@pytest.mark.parametrize(
    ("spec", "what", "path"),
    [
        ({"every": "P1M", "zone": "Mars/Olympus"}, "unknown zone", ("zone",)),
        ({"every": "P1M", "zone": 5}, "not a zone", ("zone",)),
        ({"every": "P0M"}, "zero", ("every",)),
        ({"every": "-P1M"}, "negative", ("every",)),
        ({"every": "P-1M"}, "negative", ("every",)),
        ({"every": "P1M", "length": "PT0S"}, "zero", ("length",)),
        ({"every": "P1MT1H"}, "mixes months with elapsed time", ("every",)),
        ({"every": "P1DT12H"}, "mixes days with elapsed time", ("every",)),
        ({"every": "P1.5M"}, "fraction", ("every",)),
        ({"every": "month"}, "not an ISO 8601 duration", ("every",)),
        ({"every": 3}, "not a duration", ("every",)),
        ({"every": "P1M", "anchor": "2025-02-30"}, "not a date", ("anchor",)),
        ({"every": "P1M", "anchor": "soon"}, "not an ISO 8601 date-time", ("anchor",)),
        ({"every": "P1M", "ankor": "2025-01-01"}, "unknown key 'ankor'", ("ankor",)),
        ({"every": "P1M", "boundaries": []}, "here are every and boundaries", ()),
        ({"zone": "UTC"}, "here is none", ()),
        ({"boundaries": ["2025-01-02", "2025-01-01"]}, "not after the one before", ("boundaries", 1)),
        ({"boundaries": ["2025-01-01", "2025-01-01"]}, "not after the one before", ("boundaries", 1)),
        ({"boundaries": ["2025-01-01", "x"]}, "not an ISO 8601 date-time", ("boundaries", 1)),
        ({"boundaries": ["2025-01-01"]}, "at least two", ("boundaries",)),
        ({"boundaries": ["2025-01-01", "2025-02-01"], "length": "P1D"}, "goes with 'every'", ("length",)),
        ({"periods": [{"name": "a", "start": "2025-02-01", "end": "2025-01-01"}]}, "end after", ("periods", 0, "end")),
        ({"periods": [{"name": "a", "start": "2025-02-01"}]}, "'end' is missing", ("periods", 0)),
        (
            {"periods": [{"name": "a", "start": "2025-01-01", "end": "2025-02-01"}] * 2},
            "two periods are called 'a'",
            ("periods", 1, "name"),
        ),
        (
            {"fiscal": {"pattern": "4-4-6", "year_end": YEAR_END, "every": "month"}},
            "not a pattern",
            ("fiscal", "pattern"),
        ),
        (
            {"fiscal": {"pattern": "4-4-5", "year_end": {**YEAR_END, "month": 13}, "every": "month"}},
            "not a number from 1 to 12",
            ("fiscal", "year_end", "month"),
        ),
        ({"fiscal": {"pattern": "4-4-5", "every": "month"}}, "'year_end' is missing", ("fiscal",)),
    ],
)
def test_a_bad_spec_is_refused_with_its_reason_and_its_path(spec: dict[str, Any], what: str, path: Any) -> None:
    with pytest.raises(CalendarError, match=what) as refused:
        parse_calendar(spec)
    assert refused.value.path[: len(path)] == path


def test_a_mistyped_zone_gets_the_nearest_name() -> None:
    with pytest.raises(CalendarError, match="did you mean 'America/New_York'"):
        parse_calendar({"every": "P1M", "zone": "America/New_Yrok"})


def test_columns_make_a_keyed_calendar_only_where_they_are_allowed() -> None:
    spec = {"every": "P1M", "anchor": "customers.since", "zone": "customers.zone"}
    keyed = parse_calendar(spec, columns=True)
    assert isinstance(keyed, KeyedCalendar)
    assert (keyed.anchor_column, keyed.zone_column) == ("customers.since", "customers.zone")
    with pytest.raises(CalendarError, match="is a column") as refused:
        parse_calendar(spec)
    assert refused.value.path == ("anchor",)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("P1Y2M", Duration(months=14)),
        ("P2W", Duration(weeks=2)),
        ("P1DT12H", Duration(days=1, micros=43_200_000_000)),
        ("PT0.5S", Duration(micros=500_000)),
        ("P0D", Duration()),
    ],
)
def test_durations_are_iso_8601(text: str, duration: Duration) -> None:
    assert parse_duration(text) == duration
    assert parse_duration(str(duration)) == duration


@pytest.mark.parametrize(
    "text", ["2025-01-01", "2025-01-01T00:00:00", "2025-13-01T00:00:00Z", "2025-01-01T25:00:00Z", ""]
)
def test_an_instant_without_an_offset_or_a_date_is_refused(text: str) -> None:
    with pytest.raises(CalendarError):
        parse_instant(text)


def test_the_same_duration_in_other_units_leaves_no_gap_and_no_overlap() -> None:
    for every, length in (("P1W", "P7D"), ("P12M", "P1Y"), ("PT60M", "PT1H")):
        calendar = parse_calendar({"every": every, "length": length})
        assert not calendar.overlapping
        first, second = calendar.period(0), calendar.period(1)
        assert first is not None
        assert second is not None
        assert first.end == second.start
