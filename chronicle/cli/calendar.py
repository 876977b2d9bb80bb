"""`chronicle calendar`: the periods of a calendar, given inline or by its name in the definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, cast

import click

from chronicle.cli import output
from chronicle.cli.options import file_option, json_option, open_project, utf8
from chronicle.errors import DefinitionError, Fault, NotFoundError, UsageError, did_you_mean

if TYPE_CHECKING:
    from calendars import Calendar, KeyedCalendar, Period, Zone

BAD_CALENDAR = "CH209"
"""The code that a calendar in a definition is refused with; the same spec given here is refused with the same one."""

_NOT_A_MAPPING = "CH006"
_NO_MAPPING = Fault(BAD_CALENDAR, "a calendar is a mapping", fix="write it like {every: P1M, zone: America/New_York}")
"""Said instead of what the loader says of a whole definition file that is none."""

_ALIGNED = 200
"""Periods that are read ahead to align the columns; the rest is printed as it comes."""


class SpecError(DefinitionError):
    """A spec on the command line that is no calendar: a wrong argument, with the place inside it."""

    exit_code = UsageError.exit_code


@click.command()
@click.argument("spec")
@click.option("--at", metavar="T", help="Every period that contains this instant.")
@click.option("--from", "first", metavar="A", help="With --to: every period that intersects [A, B).")
@click.option("--to", "until", metavar="B", help="With --from.")
@file_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    spec: str,
    at: str | None,
    first: str | None,
    until: str | None,
    files: tuple[str, ...],
    as_json: bool,
) -> int:
    """The periods of a calendar at an instant, or between two.

    SPEC is a calendar as inline JSON or YAML, or the name of one in the definition. Instants are ISO 8601 with Z or an
    offset. Exit 4 when there is no such period.

    \b
    chronicle calendar month --at 2026-03-17T10:00:00Z
    chronicle calendar '{every: P1M, anchor: "2025-01-31", zone: America/New_York}' \\
        --from 2025-01-01T00:00:00Z --to 2025-06-01T00:00:00Z
    chronicle calendar '{"every": "P1D", "length": "P30D"}' --at 2026-03-17T10:00:00Z --json
    """
    if (at is None) == (first is None and until is None) or (first is None) != (until is None):
        raise click.UsageError("give either --at T, or both --from A and --to B", ctx)
    calendar = read_spec(utf8(spec)) if _is_inline(spec) else named_calendar(spec, files)
    if at is not None:
        found: Iterator[Period] = iter(calendar.periods_at(_instant("--at", at)))
    else:
        found = calendar.periods_between(*_range(str(first), str(until)))
    first_found = next(found, None)
    if first_found is None:
        asked = f"contains {at}" if at is not None else f"intersects [{first}, {until})"
        raise NotFoundError(f"no period of the calendar {asked}")
    periods = chain([first_found], found)
    if as_json:
        for period in periods:
            output.json_line(period_json(period))
    else:
        for line in period_lines(calendar, periods):
            output.result(line)
    return 0


def read_spec(text: str) -> Calendar:
    """The calendar of an inline spec; a fault has its place in it."""
    from calendars import CalendarError, parse_calendar
    from chronicle.definitions.document import parse_document, plain
    from chronicle.definitions.positions import key_place_of, place_of
    from chronicle.definitions.source_text import SourceText

    root, faults = parse_document(SourceText.of("SPEC", text))
    if faults or root is None:
        raise SpecError([_NO_MAPPING if fault.code == _NOT_A_MAPPING else fault for fault in faults])
    try:
        return parse_calendar(cast("dict[str, object]", plain(root)))
    except CalendarError as error:
        place = (key_place_of if error.at_key else place_of)(root, error.path)
        raise SpecError([Fault(BAD_CALENDAR, error.what, error.why, error.fix, place)]) from None


def named_calendar(name: str, files: tuple[str, ...]) -> Calendar:
    """The calendar of this name in the definition; other parts of the definition may be faulty."""
    from calendars import KeyedCalendar

    project = open_project(files)
    calendar = project.calendars.get(name)
    if calendar is None:
        if project.loaded.all_faults:
            raise DefinitionError(project.loaded.all_faults)
        known = did_you_mean(name, project.calendars)
        raise NotFoundError(f"there is no calendar '{name}'{known}", "or give one inline, like '{every: P1M}'")
    if isinstance(calendar, KeyedCalendar):
        raise UsageError(f"every key has its own calendar '{name}', by {_columns(calendar)}", "give one key's inline")
    return calendar


def period_json(period: Period) -> dict[str, str | int]:
    """The shape of the contract."""
    from calendars import format_instant

    return {
        "n": period.n,
        "label": period.label,
        "start": format_instant(period.start),
        "end": format_instant(period.end),
    }


def period_lines(calendar: Calendar, periods: Iterable[Period]) -> Iterator[str]:
    """A heading and a line a period, in local times with offsets, and the length that a stopwatch would show."""
    from calendars import TZDATA_VERSION

    rows = (
        (
            str(period.n),
            period.label,
            _local(calendar.zone_at(period.end), period.start),
            _local(calendar.zone_at(period.end), period.end),
            length_text(period.end - period.start),
        )
        for period in periods
    )
    ahead = list(islice(rows, _ALIGNED))
    heading = ("n", "label", f"start ({calendar.zone}, tzdata {TZDATA_VERSION})", "end", "length")
    widths = [max(map(len, column)) for column in zip(heading, *ahead, strict=True)]
    for n, *others in chain([heading], ahead, rows):
        cells = [n.rjust(widths[0]), *(cell.ljust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def length_text(micros: int) -> str:
    """'30 d 23 h'."""
    parts = []
    for name, unit in (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000)):
        count, micros = divmod(micros, unit)
        if count:
            parts.append(f"{count} {name}")
    if micros:
        parts.append(f"{micros / 1_000_000:.6f}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts)


def _is_inline(spec: str) -> bool:
    return any(mark in spec for mark in "{[:\n") or not spec.strip()


def _columns(calendar: KeyedCalendar) -> str:
    return " and ".join(column for column in (calendar.anchor_column, calendar.zone_column) if column)


def _local(zone: Zone, instant: int) -> str:
    from calendars.instants import format_local

    return f"{format_local(zone.local_of(instant))}{zone.describe_offset(instant)}"


def _instant(option: str, text: str) -> int:
    from calendars import CalendarError, parse_instant

    try:
        return parse_instant(text)
    except CalendarError as error:
        reason = f"; {error.why}" if error.why else ""
        raise UsageError(f"{option}: {error.what}{reason}", error.fix) from None


def _range(first: str, until: str) -> tuple[int, int]:
    begin, end = _instant("--from", first), _instant("--to", until)
    if begin >= end:
        raise UsageError(f"--from {first} is not before --to {until}", "the range is [from, to): give a later --to")
    return begin, end
