"""Calendars: which period does an instant belong to? (chronicle data model §5.1)

Instants, local times, zones, durations and periods are types of their own. A `Calendar` is a set of half-open periods:
regular, fiscal, listed, or one for each key of a relation (`KeyedCalendar`). Rules: docs/calendars.md.
NumPy is loaded by `assign`, not by this package.
"""

from calendars.calendar import Calendar, add_on_wall_clock
from calendars.civil import LocalTime
from calendars.durations import Duration, Unit, parse_duration
from calendars.errors import CalendarError
from calendars.instants import MAX_INSTANT, MIN_INSTANT, Instant, format_instant, parse_instant, parse_moment
from calendars.keyed import KeyedCalendar, Version
from calendars.parse import parse_calendar
from calendars.periods import Pane, Period, PeriodState
from calendars.zones import TZDATA_VERSION, UTC, Zone

__all__ = [
    "Calendar",
    "KeyedCalendar",
    "Version",
    "Period",
    "Pane",
    "PeriodState",
    "Duration",
    "Unit",
    "Zone",
    "UTC",
    "Instant",
    "LocalTime",
    "MIN_INSTANT",
    "MAX_INSTANT",
    "TZDATA_VERSION",
    "CalendarError",
    "parse_calendar",
    "parse_duration",
    "parse_instant",
    "parse_moment",
    "format_instant",
    "add_on_wall_clock",
]
