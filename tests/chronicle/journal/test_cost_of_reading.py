"""Reading from an offset touches the same number of files and bytes whatever the journal's length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chronicle.journal import Journal

_TOUCHED: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _TOUCHED is not None and event in ("open", "os.listdir", "os.scandir"):
        _TOUCHED.append(event)


sys.addaudithook(_hook)  # it cannot be removed again, so it only counts while asked to


def touched(action: Callable[[], object]) -> list[str]:
    global _TOUCHED
    _TOUCHED = []
    try:
        action()
        return _TOUCHED
    finally:
        _TOUCHED = None


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Journal, Journal]:
    """A short one and a long one: 4 and 120 segments of ten appends."""
    found = []
    for segments in (4, 120):
        path: Path = tmp_path_factory.mktemp("journals") / "journal"
        journal = Journal.open(path, segment_bytes=600)
        for number in range(segments * 10):
            journal.append([b"%d" % number])
        found.append(journal)
    return found[0], found[1]


def test_reading_ten_appends_opens_as_many_files_in_a_long_journal(journals: tuple[Journal, Journal]) -> None:
    costs = [touched(lambda: journal.read_arrow(15, 25)) for journal in journals]  # noqa: B023  # called at once
    at_the_end = touched(lambda: journals[1].read_arrow(1185, 1195))
    assert costs[0] == costs[1] == at_the_end
    assert set(costs[0]) == {"open"}
    assert len(costs[0]) <= 8


def test_the_next_offset_opens_nothing(journals: tuple[Journal, Journal]) -> None:
    assert touched(journals[1].next_offset) == []


def test_an_append_opens_nothing_once_its_segment_is_open(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        journal.append([b"first"])
        assert touched(lambda: journal.append([b"second"])) == ["open"]  # the manifest, for the segment's age


def test_opening_costs_the_same_in_a_long_journal(journals: tuple[Journal, Journal]) -> None:
    costs = [touched(Journal.open(journal.path).close) for journal in journals]
    assert costs[0] == costs[1]


def test_byte_ranges_cover_exactly_the_offsets_asked_for(journals: tuple[Journal, Journal]) -> None:
    extents = journals[1].locate(95, 131)
    assert (extents[0].first, extents[-1].last) == (95, 131)
    for before, after in pairwise(extents):
        assert before.last == after.first
