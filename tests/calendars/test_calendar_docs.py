"""docs/calendars.md: its calendars are calendars, and its worked dates are what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from calendars import KeyedCalendar, format_instant, parse_calendar, parse_instant
from chronicle.definitions.document import parse_document, plain
from chronicle.definitions.source_text import SourceText

TEXT = Path(__file__).parents[2].joinpath("docs", "calendars.md").read_text()


def examples() -> dict[str, dict[str, Any]]:
    block = re.search(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    root, faults = parse_document(SourceText.of("docs/calendars.md", block[1]))
    assert root is not None
    assert not faults
    return cast("dict[str, dict[str, Any]]", plain(root)["calendars"])


@pytest.mark.parametrize("name", sorted(examples()))
def test_every_example_is_a_calendar(name: str) -> None:
    spec = examples()[name]
    calendar = parse_calendar(spec, columns=True)
    assert isinstance(calendar, KeyedCalendar) == (name == "cycle")
    assert calendar.overlapping == (name in ("moving30", "sales"))


@pytest.mark.parametrize(("moved_to", "bridge_ends"), [("2025-03-20", "2025-04-20"), ("2025-03-10", "2025-05-10")])
def test_the_worked_change_of_an_anchor_is_as_the_page_says(moved_to: str, bridge_ends: str) -> None:
    cycle = parse_calendar(examples()["cycle"], columns=True)
    assert isinstance(cycle, KeyedCalendar)
    changed = parse_instant("2025-03-05T00:00:00Z")
    bridge = cycle.at(((0, "2024-01-01", "UTC"), (changed, moved_to, "UTC"))).period_at(
        parse_instant("2025-04-01T00:00:00Z")
    )
    assert bridge is not None
    assert (format_instant(bridge.start)[:10], format_instant(bridge.end)[:10]) == ("2025-04-01", bridge_ends)


@pytest.mark.parametrize(("named", "label"), [("start", "FY2022"), ("end", "FY2023")])
def test_the_worked_fiscal_year_is_as_the_page_says(named: str, label: str) -> None:
    end = {"weekday": "saturday", "rule": "last", "month": 9}
    period = parse_calendar({"fiscal": {"year_end": end, "every": "year", "named": named}}).parse_label(label)
    assert (format_instant(period.start)[:10], format_instant(period.end)[:10]) == ("2022-09-25", "2023-10-01")
