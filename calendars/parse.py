"""From the spec of a calendar (definitions.md, Calendars) to the calendar, or the reason why it is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Literal, TypeVar, cast, overload

from calendars.calendar import Calendar
from calendars.civil import LocalTime
from calendars.durations import Duration, Unit, parse_duration
from calendars.errors import CalendarError, suggestion
from calendars.fiscal import FiscalRule, FiscalUnit, Pattern, YearEnd
from calendars.instants import Instant, Moment, format_instant, parse_moment
from calendars.keyed import BoundariesTemplate, KeyedCalendar, NamedTemplate, RegularTemplate, Template, fill_in
from calendars.listed import resolve
from calendars.regular import default_anchor
from calendars.zones import UTC, Zone

_KEYS = ("every", "anchor", "zone", "length", "fiscal", "boundaries", "periods")
_KINDS = ("every", "fiscal", "boundaries", "periods")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

T = TypeVar("T")


@overload
def parse_calendar(spec: Mapping[str, object], *, columns: Literal[False] = False) -> Calendar: ...
@overload
def parse_calendar(spec: Mapping[str, object], *, columns: bool) -> Calendar | KeyedCalendar: ...
def parse_calendar(spec: Mapping[str, object], *, columns: bool = False) -> Calendar | KeyedCalendar:
    """The calendar of a spec; CalendarError says why not. `columns` allows 'relation.column' as anchor and zone."""
    if not isinstance(spec, Mapping):
        raise CalendarError("a calendar is a mapping", fix="write it like {every: P1M, zone: America/New_York}")
    _no_other_keys(spec, _KEYS)
    kinds = [kind for kind in _KINDS if kind in spec]
    if len(kinds) != 1:
        what = f"a calendar has one of {', '.join(_KINDS)}"
        raise CalendarError(f"{what}; here are {' and '.join(kinds)}" if kinds else f"{what}; here is none")
    anchor_column = _column(spec, "anchor", columns)
    zone_column = _column(spec, "zone", columns)
    template = _template(spec, kinds[0], keyed=anchor_column is not None)
    zone = UTC if zone_column or spec.get("zone") is None else _under("zone", lambda: Zone.named(spec["zone"]))
    if anchor_column or zone_column:
        return KeyedCalendar(template, anchor_column, zone_column, zone)
    _check_order(template, zone)
    return fill_in(template, zone)


def _column(spec: Mapping[str, object], key: str, columns: bool) -> str | None:
    value = spec.get(key)
    if not isinstance(value, str) or not _COLUMN.fullmatch(value):
        return None
    if not columns:
        what = "a time like 2025-01-31T00:00:00" if key == "anchor" else "a name like America/New_York"
        why = "a column of a relation can be looked up only in a definition, where views join that relation"
        raise CalendarError(f"the {key} '{value}' is a column", why, f"give {what}", (key,))
    return value


def _template(spec: Mapping[str, object], kind: str, *, keyed: bool) -> Template:
    if kind != "every":
        for key in ("anchor", "length"):
            if key in spec:
                raise CalendarError(f"'{key}' goes with 'every', not with '{kind}'", path=(key,))
    match kind:
        case "every":
            return _regular(spec, keyed=keyed)
        case "fiscal":
            return _under("fiscal", lambda: _fiscal(spec["fiscal"]))
        case "boundaries":
            return _boundaries(spec["boundaries"])
        case _:
            return _periods(spec["periods"])


def _regular(spec: Mapping[str, object], *, keyed: bool) -> RegularTemplate:
    every = _positive(spec, "every")
    if every.unit is Unit.MIXED and every.micros:
        raise CalendarError(
            f"'every: {every}' mixes {'months' if every.months else 'days'} with elapsed time",
            "months and days step on the wall clock, hours are elapsed time: together they have no one meaning",
            "use one of them, and 'length' for periods of another length",
            ("every",),
        )
    length = _positive(spec, "length") if spec.get("length") is not None else every
    given = spec.get("anchor")
    anchor = default_anchor(every) if keyed or given is None else _under("anchor", lambda: parse_moment(given))
    return RegularTemplate(every, length, anchor)


def _positive(spec: Mapping[str, object], key: str) -> Duration:
    duration = _under(key, lambda: parse_duration(spec[key]))
    if duration.is_zero:
        raise CalendarError(f"'{key}: {duration}' is zero", fix="a period lasts some time, like P1M", path=(key,))
    return duration


def _fiscal(spec: object) -> FiscalRule:
    if not isinstance(spec, Mapping):
        raise CalendarError("'fiscal' is a mapping of pattern, year_end and every")
    _no_other_keys(spec, ("pattern", "year_end", "every", "named"))
    every = FiscalUnit(_choice(spec, "every", [unit.value for unit in FiscalUnit]))
    if every in (FiscalUnit.YEAR, FiscalUnit.WEEK) and spec.get("pattern") is None:
        pattern = Pattern.P445  # years and weeks are the same in every pattern
    else:
        pattern = Pattern(_choice(spec, "pattern", [pattern.value for pattern in Pattern]))
    year_end = _under("year_end", lambda: _year_end(_required(spec, "year_end")))
    named = "start" if spec.get("named") is None else _choice(spec, "named", ["start", "end"])
    return FiscalRule(pattern, year_end, every, cast("Literal['start', 'end']", named))


def _year_end(spec: object) -> YearEnd:
    if not isinstance(spec, Mapping):
        raise CalendarError("'year_end' is a mapping", fix="write it like {weekday: saturday, rule: nearest, month: 1}")
    _no_other_keys(spec, ("weekday", "rule", "month"))
    weekday = _WEEKDAYS.index(_choice(spec, "weekday", _WEEKDAYS))
    rule = cast("Literal['nearest', 'last']", _choice(spec, "rule", ["nearest", "last"]))
    month = _required(spec, "month")
    if not isinstance(month, int) or isinstance(month, bool) or not 1 <= month <= 12:
        raise CalendarError(f"the month {month!r} is not a number from 1 to 12", path=("month",))
    return YearEnd(weekday, rule, month)


def _boundaries(given: object) -> BoundariesTemplate:
    if not isinstance(given, list | tuple) or len(given) < 2:
        raise CalendarError("'boundaries' is a list of at least two times", path=("boundaries",))
    return BoundariesTemplate(
        tuple(_under(("boundaries", i), partial(parse_moment, value)) for i, value in enumerate(given))
    )


def _periods(given: object) -> NamedTemplate:
    if not isinstance(given, list | tuple) or not given:
        raise CalendarError("'periods' is a list of at least one {name, start, end}", path=("periods",))
    periods = tuple(_under(("periods", i), partial(_named_period, item)) for i, item in enumerate(given))
    names: set[str] = set()
    for i, (name, _, _) in enumerate(periods):
        if name in names:
            raise CalendarError(f"two periods are called '{name}'", path=("periods", i, "name"))
        names.add(name)
    return NamedTemplate(periods)


def _named_period(item: object) -> tuple[str, Moment, Moment]:
    if not isinstance(item, Mapping):
        raise CalendarError("a period is a mapping of name, start and end")
    _no_other_keys(item, ("name", "start", "end"))
    name = _required(item, "name")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise CalendarError(f"{name!r} is not a name", path=("name",))
    start = _under("start", lambda: parse_moment(_required(item, "start")))
    end = _under("end", lambda: parse_moment(_required(item, "end")))
    return str(name), start, end


def _check_order(template: Template, zone: Zone) -> None:
    """Where the zone is known, times must be in order as instants."""
    match template:
        case BoundariesTemplate(moments):
            for i, (moment, after) in enumerate(pairwise(moments), start=1):
                if resolve(after, zone) <= resolve(moment, zone):
                    what = f"the boundary {_show(after)} is not after the one before it, {_show(moment)}"
                    raise CalendarError(what, fix="list boundaries in order, each once", path=("boundaries", i))
        case NamedTemplate(periods):
            for i, (name, start, end) in enumerate(periods):
                if resolve(end, zone) <= resolve(start, zone):
                    what = f"the period '{name}' does not end after it starts"
                    why = f"it starts {_show(start)} and ends {_show(end)}"
                    raise CalendarError(what, why, path=("periods", i, "end"))
        case _:
            return


def _show(moment: Moment) -> str:
    return str(moment) if isinstance(moment, LocalTime) else format_instant(Instant(moment))


def _required(spec: Mapping[str, object], key: str) -> object:
    if spec.get(key) is None:
        raise CalendarError(f"'{key}' is missing")
    return spec[key]


def _choice(spec: Mapping[str, object], key: str, choices: list[str] | tuple[str, ...]) -> str:
    value = _required(spec, key)
    chosen = value.lower() if isinstance(value, str) else value
    if chosen not in choices:
        raise CalendarError(f"{value!r} is not a {key}", fix=suggestion(str(value), choices), path=(key,))
    return str(chosen)


def _no_other_keys(spec: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in spec:
        if key not in known:
            fix = suggestion(str(key), known)
            raise CalendarError(f"unknown key '{key}'", fix=fix, path=(str(key),), at_key=True)


def _under(keys: str | tuple[str | int, ...], parse: Callable[[], T]) -> T:
    """`parse()`, whose errors are about the value under `keys`."""
    try:
        return parse()
    except CalendarError as error:
        raise error.inside(*((keys,) if isinstance(keys, str) else keys)) from None
