"""A calendar for each key: the rule for a changed zone or anchor, and the assignment of many keys at once."""

from __future__ import annotations

import pickle
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from calendar_cases import ZONES
from hypothesis import given
from hypothesis import strategies as st

from calendars import Calendar, CalendarError, KeyedCalendar, Version, format_instant, parse_calendar, parse_instant

DAY = 86_400_000_000
FIRST, UNTIL = parse_instant("2024-06-01T00:00:00Z"), parse_instant("2027-06-01T00:00:00Z")


def keyed(**spec: str) -> KeyedCalendar:
    calendar = parse_calendar({"every": "P1M", "anchor": "c.since", "zone": "c.zone", **spec}, columns=True)
    assert isinstance(calendar, KeyedCalendar)
    return calendar


def version(since: str, anchor: str, zone: str = "UTC") -> Version:
    return parse_instant(f"{since}T00:00:00Z"), anchor, zone


def between(calendar: Calendar, first: str, until: str) -> list[tuple[str, str]]:
    found = calendar.periods_between(parse_instant(f"{first}T00:00:00Z"), parse_instant(f"{until}T00:00:00Z"))
    return [(format_instant(period.start)[:10], format_instant(period.end)[:10]) for period in found]


def test_the_running_period_ends_where_it_would_have_and_the_next_starts_there() -> None:
    """From the 1st to the 20th: the rest from 1 April to 20 April is longer than half a month, a period of its own."""
    calendar = keyed().at((version("2024-01-01", "2024-01-01"), version("2025-03-10", "2025-03-20")))
    assert between(calendar, "2025-02-10", "2025-06-01") == [
        ("2025-02-01", "2025-03-01"),
        ("2025-03-01", "2025-04-01"),
        ("2025-04-01", "2025-04-20"),
        ("2025-04-20", "2025-05-20"),
        ("2025-05-20", "2025-06-20"),
    ]


def test_a_rest_shorter_than_half_is_merged_into_the_period_after_it() -> None:
    """From the 1st to the 10th: 1 to 10 April is short, so the next period reaches to 10 May."""
    calendar = keyed().at((version("2024-01-01", "2024-01-01"), version("2025-03-05", "2025-03-10")))
    assert between(calendar, "2025-03-10", "2025-06-01") == [
        ("2025-03-01", "2025-04-01"),
        ("2025-04-01", "2025-05-10"),
        ("2025-05-10", "2025-06-10"),
    ]


def test_a_change_of_zone_moves_the_next_start_by_the_difference() -> None:
    calendar = keyed().at((version("2024-01-01", "2024-01-01"), version("2025-03-05", "2024-01-01", "Asia/Tokyo")))
    found = calendar.periods_between(parse_instant("2025-03-10T00:00:00Z"), parse_instant("2025-06-01T00:00:00Z"))
    assert [(format_instant(period.start), format_instant(period.end)) for period in found] == [
        ("2025-03-01T00:00:00Z", "2025-04-01T00:00:00Z"),
        ("2025-04-01T00:00:00Z", "2025-04-30T15:00:00Z"),
        ("2025-04-30T15:00:00Z", "2025-05-31T15:00:00Z"),
        ("2025-05-31T15:00:00Z", "2025-06-30T15:00:00Z"),
    ]


def test_anchors_are_instants_dates_or_local_texts() -> None:
    by_date = keyed().at(((0, date(2025, 1, 31), "America/New_York"),))
    by_text = keyed().at(((0, "2025-01-31T00:00:00", "America/New_York"),))
    by_instant = keyed().at(((0, parse_instant("2025-01-31T05:00:00Z"), "America/New_York"),))
    expected = between(by_date, "2025-01-31", "2025-06-01")
    assert between(by_text, "2025-01-31", "2025-06-01") == expected
    assert between(by_instant, "2025-01-31", "2025-06-01") == expected


def test_a_null_anchor_is_a_time_without_periods() -> None:
    assert keyed().at(((0, None, "UTC"),)).period_at(FIRST) is None


def test_a_text_that_is_no_zone_is_refused_by_name() -> None:
    with pytest.raises(CalendarError, match="unknown zone 'Nowhere'"):
        keyed().at(((0, "2025-01-01", "Nowhere"),))


def test_keys_with_the_same_versions_share_one_calendar() -> None:
    calendars = keyed()
    versions = (version("2024-01-01", "2024-01-31"),)
    assert calendars.at(versions) is calendars.at(versions)
    assert pickle.loads(pickle.dumps(calendars)).at(versions) == calendars.at(versions)


dates = st.dates(date(2023, 1, 1), date(2026, 12, 31))


def changing(since: st.SearchStrategy[int], at_most: int, dates: st.SearchStrategy[date]) -> st.SearchStrategy:
    drawn = st.tuples(since, dates, st.sampled_from(ZONES))
    several = st.lists(drawn, min_size=1, max_size=at_most, unique_by=lambda each: each[0])
    return several.map(lambda each: tuple(sorted(each)))


far_apart = changing(st.integers(FIRST, UNTIL), 4, dates)
within_days = changing(st.integers(FIRST, FIRST + 5 * DAY), 8, st.sampled_from([date(2024, 1, 1), date(2024, 1, 3)]))
"""Many a change and back again within one period, or within the bridge between two."""

versions = far_apart | within_days
everies = st.sampled_from(["P1M", "P1W", "P3M", "P10D", "P1D"])


@given(everies, versions)
def test_changed_calendars_leave_no_gap_and_no_overlap(every: str, changes: tuple[Version, ...]) -> None:
    calendar = keyed(every=every).at(changes)
    periods = list(calendar.periods_between(FIRST, UNTIL))
    assert all(period.end == following.start for period, following in pairwise(periods))
    assert [period.n for period in periods] == sorted({period.n for period in periods})
    assert len({period.label for period in periods}) == len(periods)
    for period in periods:
        assert calendar.period(period.n) == period
        assert calendar.parse_label(period.label) == period


def test_what_came_and_went_within_a_merged_rest_cuts_no_period() -> None:
    """A quarter of a day is left until UTC's next midnight, so the day is longer; within it another zone came and went
    again. That zone's own days began in the middle of it, and two periods held one instant."""
    changes = tuple(
        (parse_instant(since), date(2024, 1, 1), zone)
        for since, zone in [
            ("2026-03-01T00:00:00Z", "Asia/Kathmandu"),
            ("2026-03-10T03:04:09Z", "UTC"),
            ("2026-03-10T19:34:58Z", "Asia/Kathmandu"),
            ("2026-03-11T16:20:14Z", "UTC"),
        ]
    )
    found = keyed(every="P1D").at(changes).periods_between(changes[2][0], parse_instant("2026-03-13T00:00:00Z"))
    assert [(format_instant(period.start), format_instant(period.end)) for period in found] == [
        ("2026-03-10T18:15:00Z", "2026-03-12T00:00:00Z"),
        ("2026-03-12T00:00:00Z", "2026-03-13T00:00:00Z"),
    ]


@given(everies, versions)
def test_a_change_never_moves_a_period_that_had_started(every: str, changes: tuple[Version, ...]) -> None:
    """Closed and running periods are what they were before anybody knew of the change."""
    calendar, before = keyed(every=every).at(changes), keyed(every=every).at(changes[:-1] or changes)
    since = changes[-1][0]
    known = [(period.start, period.end, period.label) for period in before.periods_between(FIRST, since + 1)]
    found = [(period.start, period.end, period.label) for period in calendar.periods_between(FIRST, since + 1)]
    assert found[: len(known)] == known


@given(everies, versions)
def test_no_period_is_shorter_than_half_the_nominal_one(every: str, changes: tuple[Version, ...]) -> None:
    calendar = keyed(every=every).at(changes)
    shortest = {"P1M": 28, "P1W": 7, "P3M": 89, "P10D": 10, "P1D": 1}[every]
    for period in calendar.periods_between(FIRST, UNTIL):
        assert period.end - period.start >= (shortest / 2 - 1.1) * DAY


@given(st.lists(versions, min_size=1, max_size=5), st.integers(0, 2**32))
def test_many_keys_at_once_are_assigned_like_each_alone(keys: list[tuple[Version, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    calendars = [keyed().at(key) for key in keys]
    index = rng.integers(0, len(calendars), 60)
    chronons = rng.integers(FIRST, UNTIL, 60)
    chronons[:3] = parse_instant("0001-01-01T00:00:00Z"), parse_instant("9999-12-31T00:00:00Z"), 2**63 - 1
    found = KeyedCalendar.assign_keyed(index, calendars, chronons)
    for row, (key, chronon) in enumerate(zip(index.tolist(), chronons.tolist(), strict=True)):
        period = calendars[key].period_at(chronon)
        assert bool(found.valid[row]) == (period is not None)
        if period is not None:
            assert (found.starts[row], found.ends[row]) == (period.start, period.end)
            assert found.first_end[row] == period.end
