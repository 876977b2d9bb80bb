"""Zones and regular calendars beside a slow oracle made of datetime and zoneinfo."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest
from calendar_cases import ZONES, instants
from calendar_oracle import at_micros, fiscal_year, micros, months_later, period_of, resolve, start_of, zone_info
from hypothesis import assume, given
from hypothesis import strategies as st

from calendars import Zone, parse_calendar
from calendars.civil import DAY, LocalTime, date_of, day_number, iso_week
from calendars.instants import format_instant, parse_instant

zones = st.sampled_from(ZONES)
locals_ = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)) | st.datetimes(
    datetime(1840, 1, 1), datetime(2110, 1, 1)
)


@given(zones, instants)
def test_offsets_are_those_of_zoneinfo(zone: str, instant: int) -> None:
    moment = at_micros(instant)
    assume(3 < (moment - datetime(1, 1, 1, tzinfo=UTC)).days < 3_652_055)  # zoneinfo ends where datetime does
    offset = moment.astimezone(zone_info(zone)).utcoffset()
    assert offset is not None
    assert Zone.named(zone).offset_at(instant) == offset // timedelta(microseconds=1)


@given(zones, locals_)
def test_local_times_resolve_as_zoneinfo_does_with_fold_0(zone: str, local: datetime) -> None:
    assert Zone.named(zone).instant_of(_local(local)) == resolve(local, zone)


@pytest.mark.parametrize("zone", sorted(files("tzdata").joinpath("zones").read_text().split()))
def test_every_zone_agrees_with_zoneinfo(zone: str) -> None:
    """Before, within and after the transitions that its file lists."""
    ours, theirs = Zone.named(zone), zone_info(zone)
    moments = [
        datetime(year, month, 1, tzinfo=UTC) for year in (1850, 1901, 1945, 1974, 2011) for month in range(1, 13, 2)
    ]
    moments += [
        datetime(year, month, day, 1, tzinfo=UTC)
        for year in (2025, 2037, 2038, 2150)
        for month in (3, 4, 9, 10, 11)
        for day in (1, 8, 15, 29)
    ]
    for moment in moments:
        offset = moment.astimezone(theirs).utcoffset()
        assert offset is not None
        assert ours.offset_at(micros(moment)) == offset // timedelta(microseconds=1)


@given(
    zones,
    st.datetimes(datetime(1890, 1, 1), datetime(2060, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    st.sampled_from([(1, 0), (3, 0), (12, 0), (0, 1), (0, 7), (0, 10), (1, 15)]),
    st.integers(micros(datetime(1900, 1, 1, tzinfo=UTC)), micros(datetime(2110, 1, 1, tzinfo=UTC))),
)
def test_regular_periods_are_those_of_the_oracle(
    zone: str, anchor: datetime, every: tuple[int, int], instant: int
) -> None:
    months, days = every
    text = "P" + (f"{months}M" if months else "") + (f"{days}D" if days else "")
    period = parse_calendar({"every": text, "anchor": anchor.isoformat(), "zone": zone}).period_at(instant)
    assert period is not None
    assert (period.n, period.start, period.end) == period_of(instant, anchor, months, days, zone)


@given(
    zones,
    st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    st.sampled_from([("P1M", "P3M", 1, 3), ("P1M", "P1Y", 1, 12), ("P3M", "P1M", 3, 1), ("P1Y", "P7M", 12, 7)]),
    st.integers(-300, 300),
)
def test_ends_clamp_from_the_anchor_like_starts(
    zone: str, anchor: datetime, steps: tuple[str, str, int, int], n: int
) -> None:
    every, length, months, reach = steps
    spec = {"every": every, "length": length, "anchor": anchor.isoformat(), "zone": zone}
    period = parse_calendar(spec).period(n)
    assert period is not None
    assert period.start == start_of(n, anchor, months, 0, zone)
    assert period.end == resolve(months_later(anchor, n * months + reach), zone)


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@given(
    st.sampled_from(["4-4-5", "4-5-4", "5-4-4", "13x4"]),
    st.sampled_from(["year", "quarter", "month", "week"]),
    st.integers(0, 6),
    st.sampled_from(["nearest", "last"]),
    st.integers(1, 12),
    zones,
    st.integers(1600, 2200),
)
def test_fiscal_years_are_those_laid_out_week_by_week(
    pattern: str, every: str, weekday: int, rule: str, month: int, zone: str, year: int
) -> None:
    end = {"weekday": WEEKDAYS[weekday], "rule": rule, "month": month}
    calendar = parse_calendar(
        {"fiscal": {"pattern": pattern, "year_end": end, "every": every, "named": "end"}, "zone": zone}
    )
    expected = fiscal_year(year, pattern, every, weekday, rule, month, zone)
    found = list(calendar.periods_between(expected[0][0], expected[-1][1]))
    assert [(period.start, period.end) for period in found] == expected
    parts = [f"-{every[0].upper()}{part:0{1 if every == 'quarter' else 2}d}" for part in range(1, len(expected) + 1)]
    assert [period.label for period in found] == [f"FY{year}{part if every != 'year' else ''}" for part in parts]


@given(st.integers(1, 3_652_059))
def test_day_numbers_are_the_proleptic_gregorian_calendar(ordinal: int) -> None:
    day = datetime.fromordinal(ordinal)
    number = day_number(day.year, day.month, day.day)
    assert number == ordinal - 719_163
    assert date_of(number) == (day.year, day.month, day.day)
    if 7 < ordinal < 3_652_050:
        assert iso_week(number) == tuple(day.isocalendar())[:2]


@given(instants)
def test_an_instant_is_written_and_read_back(instant: int) -> None:
    text = format_instant(instant)
    assert parse_instant(text) == instant
    assert micros(datetime.fromisoformat(text)) == instant


def _local(moment: datetime) -> LocalTime:
    time = moment - datetime(moment.year, moment.month, moment.day)
    return LocalTime(day_number(moment.year, moment.month, moment.day) * DAY + time // timedelta(microseconds=1))
