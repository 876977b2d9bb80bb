"""Every case of the list of calendar cases with known answers, each with the source of its rule."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from calendars import Zone, format_instant, parse_calendar, parse_instant, parse_moment
from calendars.civil import HOUR, LocalTime
from chronicle.definitions import load_text
from views.check import check
from views.derive import deriver


def starts(spec: dict[str, Any], count: int, first: int = 0) -> list[str]:
    calendar = parse_calendar(spec)
    found = [calendar.period(n) for n in range(first, first + count)]
    return [format_instant(period.start) for period in found if period]


def period_on(spec: dict[str, Any], when: str) -> tuple[str, str, str]:
    period = parse_calendar(spec).period_at(parse_instant(when))
    assert period is not None
    return period.label, format_instant(period.start), format_instant(period.end)


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        ("2025-01-31", ["2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30"]),
        ("2025-01-30", ["2025-01-30", "2025-02-28", "2025-03-30"]),
        ("2024-01-31", ["2024-01-31", "2024-02-29"]),
        ("2025-02-28", ["2025-02-28", "2025-03-28"]),
    ],
)
def test_a_month_end_anchor_clamps_and_comes_back(anchor: str, expected: list[str]) -> None:
    """Stripe, billing_cycle_anchor: a day that a month lacks is its last day; RFC 5545 would drop the month."""
    found = starts({"every": "P1M", "anchor": f"{anchor}T00:00:00"}, len(expected))
    assert found == [f"{day}T00:00:00Z" for day in expected]


def test_a_local_time_that_exists_twice_is_the_first() -> None:
    """Temporal, disambiguation "compatible": the earlier, here still -04:00."""
    zone = Zone.named("America/New_York")
    local = parse_moment("2007-11-04T01:30:00")
    assert isinstance(local, LocalTime)
    instant = zone.instant_of(local)
    assert (format_instant(instant), zone.describe_offset(instant)) == ("2007-11-04T05:30:00Z", "-04:00")


def test_a_local_time_that_does_not_exist_moves_later_by_the_gap() -> None:
    """Temporal, disambiguation "compatible": 02:30 becomes 03:30."""
    local = parse_moment("2025-03-09T02:30:00")
    assert isinstance(local, LocalTime)
    assert format_instant(Zone.named("America/New_York").instant_of(local)) == "2025-03-09T07:30:00Z"


def test_new_york_months_start_at_local_midnight() -> None:
    found = [
        period_on({"every": "P1M", "zone": "America/New_York"}, f"2024-0{month}-10T00:00:00Z") for month in (2, 3, 4)
    ]
    assert [start for _, start, _ in found] == ["2024-02-01T05:00:00Z", "2024-03-01T05:00:00Z", "2024-04-01T04:00:00Z"]


@pytest.mark.parametrize(("day", "hours"), [("2025-03-09", 23), ("2025-11-02", 25), ("2025-07-01", 24)])
def test_new_york_days_of_a_clock_change_are_23_and_25_hours(day: str, hours: int) -> None:
    period = parse_calendar({"every": "P1D", "zone": "America/New_York"}).parse_label(day)
    assert period.end - period.start == hours * HOUR


def test_budapest_january_starts_in_december_of_utc() -> None:
    assert period_on({"every": "P1M", "zone": "Europe/Budapest"}, "2025-01-10T00:00:00Z")[:2] == (
        "2025-01",
        "2024-12-31T23:00:00Z",
    )


def test_a_cairo_day_without_a_midnight_starts_an_hour_later_on_the_clock() -> None:
    period = parse_calendar({"every": "P1D", "zone": "Africa/Cairo"}).parse_label("2025-04-25")
    assert (format_instant(period.start), period.end - period.start) == ("2025-04-24T22:00:00Z", 23 * HOUR)


@pytest.mark.parametrize(
    ("day", "week"), [("2021-01-03", "2020-W53"), ("2024-12-30", "2025-W01"), ("2027-01-03", "2026-W53")]
)
def test_weeks_are_named_as_iso_8601_does(day: str, week: str) -> None:
    """ISO 8601: a week belongs to the year of its Thursday."""
    assert period_on({"every": "P1W"}, f"{day}T12:00:00Z")[0] == week


def fiscal(every: str, **over: Any) -> dict[str, Any]:
    year_end = {"weekday": "saturday", "rule": "last", "month": 9}
    return {"fiscal": {"pattern": "4-4-5", "year_end": year_end, "every": every, **over}}


@pytest.mark.parametrize(
    ("label", "last_day_ends", "weeks"), [("FY2023", "2023-10-01", 53), ("FY2024", "2024-09-29", 52)]
)
def test_a_fiscal_year_ends_on_the_last_saturday_of_september(label: str, last_day_ends: str, weeks: int) -> None:
    """10-K filings with such a year: fiscal 2023 spanned 53 weeks."""
    period = parse_calendar(fiscal("year", named="end")).parse_label(label)
    assert format_instant(period.end) == f"{last_day_ends}T00:00:00Z"
    assert period.end - period.start == weeks * 7 * 24 * HOUR


@pytest.mark.parametrize(
    ("label", "start", "end"),
    [
        ("FY2022", "2022-01-30", "2023-01-29"),
        ("FY2023", "2023-01-29", "2024-02-04"),
        ("FY2024", "2024-02-04", "2025-02-02"),
    ],
)
def test_the_retail_calendar_ends_nearest_to_the_end_of_january(label: str, start: str, end: str) -> None:
    """The US retail 4-5-4 calendar of the National Retail Federation: 2023 has 53 weeks."""
    retail = {"weekday": "saturday", "rule": "nearest", "month": 1}
    period = parse_calendar(fiscal("year", pattern="4-5-4", year_end=retail)).parse_label(label)
    assert (format_instant(period.start), format_instant(period.end)) == (f"{start}T00:00:00Z", f"{end}T00:00:00Z")


def test_the_53rd_week_goes_to_the_last_month() -> None:
    months = parse_calendar(fiscal("month", named="end"))
    weeks = [
        (period.end - period.start) // (7 * 24 * HOUR)
        for period in (months.parse_label(f"FY2023-M{month:02d}") for month in range(1, 13))
    ]
    assert weeks == [4, 4, 5, 4, 4, 5, 4, 4, 5, 4, 4, 6]
    assert (
        parse_calendar(fiscal("week", named="end")).parse_label("FY2023-W53").end
        == months.parse_label("FY2023-M12").end
    )


def test_names_by_start_and_by_end_differ_only_where_the_year_ends_before_december() -> None:
    for month, shift in ((1, 1), (9, 1), (12, 0)):
        year_end = {"weekday": "saturday", "rule": "last", "month": month}
        by_start = parse_calendar(fiscal("year", year_end=year_end)).parse_label("FY2023")
        by_end = parse_calendar(fiscal("year", year_end=year_end, named="end")).parse_label(f"FY{2023 + shift}")
        assert (by_start.start, by_start.end) == (by_end.start, by_end.end)


def test_the_example_of_the_contract() -> None:
    calendar = parse_calendar({"every": "P1M", "anchor": "2025-01-31T15:00:00Z"})
    period = calendar.period(8)
    assert period is not None
    assert (period.label, format_instant(period.start)) == ("2025-09-30", "2025-09-30T15:00:00Z")
    assert format_instant(period.end) == "2025-10-31T15:00:00Z"


@pytest.mark.parametrize(
    ("zone", "skipped"),
    [("Pacific/Apia", "2011-12-30"), ("Pacific/Kwajalein", "1993-08-21"), ("Asia/Manila", "1844-12-31")],
)
def test_a_date_that_the_zone_skipped_has_no_period(zone: str, skipped: str) -> None:
    days = parse_calendar({"every": "P1D", "zone": zone})
    local = parse_moment(skipped)
    assert isinstance(local, LocalTime)
    before, after = (days.parse_label(str(local.plus(days=by))[:10]) for by in (-1, 1))
    assert before.end == after.start
    assert after.n == before.n + 2
    assert days.period(before.n + 1) is None
    with pytest.raises(ValueError, match="there is no period"):
        days.parse_label(skipped)


def test_hours_of_a_clock_change_are_told_apart_by_their_offset() -> None:
    hours = parse_calendar({"every": "PT1H", "zone": "America/New_York"})
    found = hours.periods_between(parse_instant("2025-11-02T04:00:00Z"), parse_instant("2025-11-02T08:00:00Z"))
    assert [period.label for period in found] == [
        "2025-11-02T00:00",
        "2025-11-02T01:00-04:00",
        "2025-11-02T01:00-05:00",
        "2025-11-02T02:00",
    ]


@pytest.mark.parametrize(
    ("spec", "when", "label"),
    [
        ({"every": "P1Y"}, "2026-03-01T00:00:00Z", "2026"),
        ({"every": "P3M"}, "2026-03-01T00:00:00Z", "2026-Q1"),
        ({"every": "P1M"}, "2026-03-01T00:00:00Z", "2026-03"),
        ({"every": "P1W"}, "2026-01-31T00:00:00Z", "2026-W05"),
        ({"every": "P7D", "anchor": "2026-01-05"}, "2026-01-31T00:00:00Z", "2026-W05"),
        ({"every": "P1D"}, "2026-03-01T00:00:00Z", "2026-03-01"),
        ({"every": "P1M", "anchor": "2026-01-31"}, "2026-02-01T00:00:00Z", "2026-01-31"),
        ({"every": "PT1H"}, "2026-01-31T15:10:00Z", "2026-01-31T15:00"),
        ({"every": "P1D", "length": "P30D"}, "2026-01-30T00:00:00Z", "2026-01-01/P30D"),
        ({"every": "P1M", "length": "P28D", "zone": "America/New_York"}, "2026-03-02T00:00:00Z", "2026-03"),
    ],
)
def test_labels_are_those_of_the_contract(spec: dict[str, Any], when: str, label: str) -> None:
    assert period_on(spec, when)[0] == label


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours"),
    [
        ("Australia/Lord_Howe", "2025-04-06", "2025-04-05T13:00:00Z", 24.5),
        ("Australia/Lord_Howe", "2025-10-05", "2025-10-04T13:30:00Z", 23.5),
        ("Antarctica/Troll", "2025-03-30", "2025-03-30T00:00:00Z", 22),
        ("Antarctica/Troll", "2025-10-26", "2025-10-25T22:00:00Z", 26),
        ("Asia/Kathmandu", "2025-06-01", "2025-05-31T18:15:00Z", 24),
        ("Pacific/Kiritimati", "2025-01-01", "2024-12-31T10:00:00Z", 24),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", 23),
    ],
)
def test_days_of_odd_zones_are_those_of_the_zone_database(zone: str, day: str, start: str, hours: float) -> None:
    period = parse_calendar({"every": "P1D", "zone": zone}).parse_label(day)
    assert (format_instant(period.start), period.end - period.start) == (start, hours * HOUR)


def test_a_month_that_starts_on_a_skipped_date_starts_with_the_next_one() -> None:
    """Temporal "compatible": Apia had no 2011-12-30, so its midnight moves later by the gap of 24 hours."""
    spec = {"every": "P1M", "anchor": "2011-11-30T00:00:00", "zone": "Pacific/Apia"}
    assert starts(spec, 3) == ["2011-11-30T10:00:00Z", "2011-12-30T10:00:00Z", "2012-01-29T10:00:00Z"]


def test_a_leap_day_anchor_clamps_in_other_years_and_comes_back() -> None:
    """Stripe's rule for months, on years."""
    found = starts({"every": "P1Y", "anchor": "2024-02-29T00:00:00"}, 5)
    assert [start[:10] for start in found] == ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]


TIERS = """
chronicle: 1
name: tiers
chronicles:
  calls: {columns: {caller: string, amount: "decimal(12,2)"}}
views:
  usage:
    from: calls
    group_by: caller
    select: {spend: sum(amount)}
    derive:
      volume: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      graduated: {tiers: {of: spend, mode: graduated, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
"""


@pytest.mark.parametrize(("spend", "volume", "graduated"), [("30.00", "6.00", "2.50"), ("10.00", "0.00", "0.00")])
def test_tiers_by_volume_and_graduated(spend: str, volume: str, graduated: str) -> None:
    """Kill Bill: volume takes the highest tier reached for all of it, graduated each tier for its own part."""
    derive = deriver(check(load_text(TIERS)).admitted["usage"])
    row = derive({"caller": "c1", "spend": Decimal(spend)})
    assert (str(row["volume"]), str(row["graduated"])) == (volume, graduated)
