"""Periods in bulk are the reference's, chronon by chronon, for calendars of every form, grace and late policy."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import yaml
from generators.definitions import CALENDARS, CHRONICLES, CUSTOMERS, GRACES, KEYED
from hypothesis import given, settings
from hypothesis import strategies as st
from version_cases import instants, version_rows, versions_of_all

from calendars import Calendar
from chronicle.definitions import load_text
from chronicle.types import STRING
from views.check import check
from views.checked import CheckedView, PeriodRule
from views.kernel.admission import NO_CLOCK
from views.kernel.periods import Booking, book_keyed, book_shared, calendars_of, entries
from views.plan.programs import Planned, program_of
from views.reference.admission import Database
from views.reference.algebra import Tuple
from views.reference.periods import Late, book, calendar_of
from views.reference.versions import Moment, Relation
from views.state import key_encoder

NOW = Moment(10_000, 0, 0)


@cache
def _view(calendar: str, grace: str | None, late: str) -> CheckedView:
    period = {"calendar": calendar, "late": late, **({"grace": grace} if grace else {})}
    join = "JOIN customers ON caller = number" if calendar in KEYED else ""
    sql = f"SELECT caller, count(*) AS n FROM calls {join} GROUP BY caller"
    document: dict[str, Any] = {
        "chronicle": 1,
        "name": "drawn",
        "chronicles": CHRONICLES,
        "relations": {"customers": CUSTOMERS},
        "calendars": {**CALENDARS, **KEYED},
        "views": {"v": {"sql": sql, "period": period}},
    }
    return check(load_text(yaml.safe_dump(document))).admitted["v"]


def _rule(view: CheckedView) -> PeriodRule:
    assert view.period is not None
    return view.period


def _clocks(draw: random.Random, chronons: list[int]) -> list[int]:
    """None, before the chronon, just after, and long after: where a period ends and grace begins and ends."""
    hour = 3_600_000_000
    steps = [-hour, 0, hour, 24 * hour, 5 * 24 * hour, 40 * 24 * hour, 90 * 24 * hour]
    return [NO_CLOCK if not draw.randrange(6) else at + draw.choice(steps) for at in chronons]


def _tuple(chronon: int, clock: int, caller: str) -> Tuple:
    return Tuple(0, chronon, (), {"caller": caller}, NOW, None if clock == NO_CLOCK else clock)


def _agree(rule: PeriodRule, database: Database, rows: list[Tuple], found: Booking) -> None:
    for at, each in enumerate(rows):
        match book(each, rule, database):
            case Late():
                assert found.late[at], each
                assert not found.booked[at], each
            case booked:
                assert not found.late[at], each
                assert bool(found.booked[at]) == bool(booked.periods), each
                if booked.periods:
                    _is_pane(booked.calendar, booked.periods, int(found.starts[at]), int(found.ends[at]))


def _is_pane(calendar: Calendar | None, periods: tuple[Any, ...], start: int, end: int) -> None:
    """All of [start, end) lies in just these periods."""
    assert calendar is not None
    assert start < end
    assert calendar.periods_at(start) == calendar.periods_at(end - 1) == periods
    if not calendar.overlapping:
        assert (start, end) == (periods[0].start, periods[0].end)


@pytest.mark.parametrize("calendar", list(CALENDARS))
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32), grace=st.sampled_from(GRACES), late=st.sampled_from(["reject", "next"]))
def test_a_shared_calendar_books_as_the_reference_does(calendar: str, seed: int, grace: str | None, late: str) -> None:
    draw, rule = random.Random(seed), _rule(_view(calendar, grace, late))
    chronons = instants(draw, 40)
    clocks = _clocks(draw, chronons)
    found = book_shared(rule, np.array(chronons), np.array(clocks))
    rows = [_tuple(chronon, clock, "c1") for chronon, clock in zip(chronons, clocks, strict=True)]
    _agree(rule, Database({}), rows, found)


@pytest.mark.parametrize("calendar", list(CALENDARS))
def test_the_directory_has_the_end_of_every_booked_start(calendar: str) -> None:
    draw, rule = random.Random(7), _rule(_view(calendar, None, "reject"))
    chronons = np.array(instants(draw, 200))
    found = book_shared(rule, chronons, np.full(200, NO_CLOCK))
    ends = {entry.start: entry.end for entry in entries(rule, found.starts[found.booked])}
    assert [ends[start] for start in found.starts[found.booked].tolist()] == found.ends[found.booked].tolist()


@pytest.mark.parametrize("calendar", list(KEYED))
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32), grace=st.sampled_from(GRACES), late=st.sampled_from(["reject", "next"]))
def test_a_calendar_per_key_books_as_the_reference_does(calendar: str, seed: int, grace: str | None, late: str) -> None:
    draw, view = random.Random(seed), _view(calendar, grace, late)
    rule, keyed = _rule(view), program_of(Planned(view, (), None)).keyed
    assert keyed is not None
    history = version_rows(draw, draw.choice([0, 1, 3, 12]))
    relation = Relation(("number",), corrects=False)
    for order, (since, row, deleted) in enumerate(history):
        relation.change(since, Moment(order, 0, 0), row, deleted=deleted)
    calendars, where = calendars_of(rule, keyed, versions_of_all(history))
    encode = key_encoder([STRING])
    chronons = instants(draw, 30)
    clocks = _clocks(draw, chronons)
    database = Database({"customers": relation})
    callers = [draw.choice(["c1", "c2", "c3", "unknown"]) for _ in chronons]
    rows = [_tuple(*each) for each in zip(chronons, clocks, callers, strict=True)]
    index = np.array([where.get(encode([caller]), -1) for caller in callers], dtype=np.int64)
    _agree(rule, database, rows, book_keyed(rule, calendars, index, np.array(chronons), np.array(clocks)))
    assert [calendar_of(row, rule, database) is None for row in rows] == (index < 0).tolist()
