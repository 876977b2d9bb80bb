"""Periods of a view (chronicle-data-model §5.1): V<D> is one view for each interval of the calendar D.

Each tuple is looked at by itself: the periods that contain its chronon, and whether it is late for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from calendars import Calendar, CalendarError, KeyedCalendar, Period
from calendars.keyed import AnchorValue
from calendars.keyed import Version as KeyVersion
from chronicle.expressions import evaluator
from views.checked import KeyedBy, PeriodRule
from views.reference.admission import Database
from views.reference.algebra import Tuple
from views.reference.versions import Version


@dataclass(frozen=True, slots=True)
class Booked:
    """The periods that a tuple counts in, and the calendar (of its key) that they are of; none in a gap."""

    periods: tuple[Period, ...]
    calendar: Calendar | None


@dataclass(frozen=True, slots=True)
class Late:
    period: Period


def book(each: Tuple, rule: PeriodRule, database: Database) -> Booked | Late:
    calendar = calendar_of(each, rule, database)
    if calendar is None:
        return Booked((), None)
    periods = calendar.periods_at(each.chronon)
    closed = [period for period in periods if is_closed(period, calendar, rule, each.clock_before)]
    if not closed:
        return Booked(periods, calendar)
    if rule.late == "next":
        assert each.clock_before is not None  # without a clock nothing is closed
        if running := calendar.periods_at(each.clock_before):
            return Booked(running, calendar)
    return Late(closed[0])


def is_closed(period: Period, calendar: Calendar, rule: PeriodRule, clock: int | None) -> bool:
    """Whether the slot's clock, just before the append, had reached end + grace."""
    return clock is not None and clock >= calendar.add(period.end, rule.grace)


def calendar_of(each: Tuple, rule: PeriodRule, database: Database) -> Calendar | None:
    """The calendar that counts for a tuple: the view's, or that of the tuple's key in a relation."""
    if not isinstance(rule.calendar, KeyedCalendar):
        return rule.calendar
    assert rule.keyed_by is not None  # the checker gives every keyed calendar its relation
    relation = database.relations[rule.keyed_by.relation]
    bound = {name: evaluator(expression)(each.environment) for name, expression in rule.keyed_by.key}
    versions = relation.versions(tuple(bound[name] for name in relation.key), each.admitted)
    if not versions:
        return None
    return rule.calendar.at(tuple(_anchor_and_zone(version, rule.calendar, rule.keyed_by) for version in versions))


def _anchor_and_zone(version: Version, calendar: KeyedCalendar, by: KeyedBy) -> KeyVersion:
    """A version as the calendar takes it. A deleted row, and one whose zone or anchor is none, has no periods."""
    row = version.row or {}
    anchor = cast("AnchorValue", row.get(by.anchor)) if by.anchor else None
    zone = cast("str | None", row.get(by.zone)) if by.zone else None
    stated = (version.valid_from, anchor, zone)
    try:
        calendar.at((stated,))
    except CalendarError:
        return version.valid_from, None, None
    return stated
