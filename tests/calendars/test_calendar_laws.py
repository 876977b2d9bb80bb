"""The laws that every calendar keeps, tried on calendars of every kind from the year 1 to 9999."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from calendar_cases import CALENDARS, EVENTFUL, LISTED, SPECS, TILING, ZONES, calendars, instants
from hypothesis import given
from hypothesis import strategies as st

from calendars import (
    MAX_INSTANT,
    MIN_INSTANT,
    Calendar,
    CalendarError,
    Duration,
    Pane,
    Period,
    PeriodState,
    Zone,
    parse_calendar,
    parse_duration,
)
from calendars.civil import DAY, HOUR

STATES = list(PeriodState)
tiling = st.sampled_from(TILING).map(CALENDARS.__getitem__)
graces = st.sampled_from(["P0D", "PT2H", "P2D", "P1M", "P1DT12H"]).map(parse_duration)


@given(calendars, instants)
def test_periods_at_an_instant_hold_it_and_the_first_to_end_comes_first(calendar: Calendar, instant: int) -> None:
    found = calendar.periods_at(instant)
    assert all(instant in period for period in found)
    assert list(found) == sorted(found, key=lambda period: (period.end, period.start))
    assert calendar.period_at(instant) == (found[0] if found else None)


@given(tiling, instants)
def test_every_instant_is_in_exactly_one_period_where_there_are_no_gaps(calendar: Calendar, instant: int) -> None:
    assert len(calendar.periods_at(instant)) == 1


@given(calendars, instants)
def test_a_start_is_in_its_period_and_an_end_is_not(calendar: Calendar, instant: int) -> None:
    for period in calendar.periods_at(instant):
        assert period.start < period.end
        if period.start >= MIN_INSTANT:
            assert period in calendar.periods_at(period.start)
        assert period not in calendar.periods_at(period.end)
        assert calendar.period(period.n) == period


@given(calendars, instants, st.integers(0, 40))
def test_periods_between_are_those_that_intersect(calendar: Calendar, first: int, steps: int) -> None:
    until = first + steps * calendar.typical // 7 + 1
    found = list(calendar.periods_between(first, until))
    assert found == sorted(found, key=lambda period: period.n)
    assert all(period.start < until and first < period.end for period in found)
    for instant in (first, (first + until) // 2, until - 1):
        assert set(calendar.periods_at(instant)) <= set(found)
    assert list(calendar.periods_between(until, first)) == []


@given(calendars, instants)
def test_periods_do_not_overlap_unless_declared_and_starts_never_decrease(calendar: Calendar, instant: int) -> None:
    near = list(calendar.periods_between(instant, instant + 5 * calendar.typical))
    for period, following in pairwise(near):
        assert period.start <= following.start
        assert calendar.overlapping or period.end <= following.start


@given(tiling, instants)
def test_consecutive_periods_meet(calendar: Calendar, instant: int) -> None:
    for period, following in pairwise(calendar.periods_between(instant, instant + 5 * calendar.typical)):
        assert period.end == following.start


@given(calendars, instants)
def test_period_n_never_depends_on_another_period(calendar: Calendar, instant: int) -> None:
    """Asked for alone, of a calendar made anew, it is the same."""
    spec = next(SPECS[name] for name, known in CALENDARS.items() if known is calendar)
    for period in calendar.periods_at(instant):
        assert parse_calendar(spec).period(period.n) == period


@given(calendars, instants)
def test_labels_are_distinct_and_lead_back(calendar: Calendar, instant: int) -> None:
    near = list(calendar.periods_between(instant, instant + 20 * calendar.typical))
    assert len({period.label for period in near}) == len(near)
    for period in near:
        assert calendar.parse_label(period.label) == period


@given(calendars, st.text(max_size=12) | st.from_regex(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?", fullmatch=True))
def test_a_text_is_a_label_or_refused_with_an_example(calendar: Calendar, text: str) -> None:
    if calendar.find(text) is not None:
        assert calendar.parse_label(text).label == text
        return
    with pytest.raises(CalendarError, match="labels of this calendar are"):
        calendar.parse_label(text)


@given(calendars, instants)
def test_panes_tile_every_period(calendar: Calendar, instant: int) -> None:
    for period in calendar.periods_at(instant):
        panes = calendar.panes_of(period)
        assert (panes[0].start, panes[-1].end) == (period.start, period.end)
        assert all(pane.end == following.start for pane, following in pairwise(panes))
        assert sum(pane.start <= instant < pane.end for pane in panes) == 1
        assert calendar.pane_at(instant) in panes


@given(calendars, instants)
def test_panes_are_the_coarsest(calendar: Calendar, instant: int) -> None:
    """A pane ends only where some period starts or ends, and the periods that hold it are the same throughout."""
    pane = calendar.pane_at(instant)
    holding = calendar.periods_at(instant)
    if pane is None:
        assert not holding
        return
    near = list(calendar.periods_between(pane.start - 1, pane.end + 1))
    edges = {edge for period in near for edge in (period.start, period.end)}
    assert {pane.start, pane.end} <= edges
    assert not any(pane.start < edge < pane.end for edge in edges)
    assert calendar.periods_at(max(pane.start, MIN_INSTANT)) == holding
    assert calendar.periods_at(min(pane.end - 1, MAX_INSTANT)) == holding


@given(calendars, instants, graces, graces, st.lists(instants, max_size=8))
def test_the_state_of_a_period_only_advances(
    calendar: Calendar, instant: int, grace: Duration, expire_after: Duration, clocks: list[int]
) -> None:
    for period in calendar.periods_at(instant)[:1]:
        near = [period.start, period.end - 1, period.end, calendar.add(period.end, grace), period.end + 40 * DAY]
        states = [STATES.index(calendar.state(period, clock, grace, expire_after)) for clock in sorted(clocks + near)]
        assert states == sorted(states)
        assert calendar.state(period, period.end - 1, grace) is PeriodState.OPEN
        assert calendar.state(period, calendar.add(period.end, grace), grace) is PeriodState.CLOSED


@pytest.mark.parametrize("name", sorted(CALENDARS))
def test_the_vectorised_path_equals_the_scalar_path(name: str) -> None:
    calendar = parse_calendar(SPECS[name])
    chronons = _chronons(calendar, np.random.default_rng(len(name)))
    found = calendar.assign(chronons)
    again = calendar.assign(chronons[::-1])
    for i, chronon in enumerate(chronons.tolist()):
        periods = calendar.periods_at(chronon)
        assert bool(found.valid[i]) == bool(periods)
        expected = calendar.pane_at(chronon) or Pane(0, 0)  # type: ignore[arg-type]  # 0 is what an invalid row holds
        assert (found.starts[i], found.ends[i]) == (expected.start, expected.end)
        assert found.first_end[i] == (periods[0].end if periods else 0)
    assert np.array_equal(again.starts[::-1], found.starts)
    assert np.array_equal(again.ends[::-1], found.ends)


def _chronons(calendar: Calendar, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """All over the years, near the edges of periods, near the year 2025 and beyond what there is."""
    some = rng.integers(MIN_INSTANT, MAX_INSTANT, 15)
    eventful = (np.array(EVENTFUL)[:, None] + np.array([-DAY, -HOUR, -1, 0, 1, DAY])).ravel()
    recent = rng.integers(EVENTFUL[6], EVENTFUL[9], 25)
    periods = [calendar.period_at(chronon) for chronon in recent.tolist()]
    edges = [edge for period in periods if period for edge in (period.start, period.end, period.end - 1)]
    beyond = [MIN_INSTANT - 1, MAX_INSTANT + 1, -(2**63), 2**63 - 1]
    return np.array([*some, *eventful, *recent, *edges, *beyond], dtype=np.int64)


@given(st.sampled_from(ZONES), instants)
def test_a_day_is_24_hours_less_what_the_clock_moved(zone_name: str, instant: int) -> None:
    zone = Zone.named(zone_name)
    period = parse_calendar({"every": "P1D", "zone": zone_name}).period_at(instant)
    assert period is not None
    moved = zone.offset_at(period.end - 1) - zone.offset_at(period.start)
    missing_midnight = zone.offset_at(period.start) - zone.offset_at(period.start - 1)
    assert period.end - period.start in {DAY - moved, DAY - moved - missing_midnight}


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Budapest", "Africa/Cairo", "Australia/Lord_Howe"])
def test_days_of_our_time_have_one_of_five_lengths(zone: str) -> None:
    days = parse_calendar({"every": "P1D", "zone": zone})
    first = days.parse_label("2023-01-01").start
    lengths = {(period.end - period.start) / HOUR for period in days.periods_between(first, first + 1100 * DAY)}
    assert lengths <= {23, 23.5, 24, 24.5, 25}
    assert len(lengths) == 3


@pytest.mark.parametrize("name", sorted(set(CALENDARS) - set(LISTED)))
def test_the_years_1_and_9999_have_periods(name: str) -> None:
    calendar = CALENDARS[name]
    reach = calendar.typical
    for first in (MIN_INSTANT, MAX_INSTANT - 3 * reach):
        found: list[Period] = list(calendar.periods_between(first, first + 3 * reach))
        assert found
        assert all(calendar.parse_label(period.label) == period for period in found)
    assert calendar.periods_at(MIN_INSTANT - 1) == ()
    assert calendar.periods_at(MAX_INSTANT + 1) == ()
