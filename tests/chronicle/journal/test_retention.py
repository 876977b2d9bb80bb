"""Old segments go whole, from the front, and never one that a consumer still needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronicle.journal import Journal, OffsetGoneError


def filled(path: Path) -> Journal:
    """Ten appends at the times 0 to 9, two to a segment."""
    journal = Journal.open(path, segment_bytes=100, clock=lambda: 0)
    for moment in range(10):
        journal.append([b"%d" % moment], timestamp=moment)
    return journal


def logs(path: Path) -> list[int]:
    return sorted(int(file.stem) for file in path.glob("*.log"))


def test_only_whole_segments_older_than_the_limit_go(tmp_path: Path) -> None:
    with filled(tmp_path / "j") as journal:
        assert logs(tmp_path / "j") == [0, 2, 4, 6, 8]
        size = journal.size_bytes
        freed = journal.retain(before=5)
        assert journal.earliest_offset() == 4
        assert logs(tmp_path / "j") == [4, 6, 8]
        assert freed + journal.size_bytes == size
        assert [record.value for record in journal.read(4)] == [b"%d" % moment for moment in range(4, 10)]


def test_what_a_consumer_still_needs_stays(tmp_path: Path) -> None:
    with filled(tmp_path / "j") as journal:
        journal.retain(before=100, floor=3)
        assert journal.earliest_offset() == 2


def test_the_newest_segment_stays_whatever_its_age(tmp_path: Path) -> None:
    with filled(tmp_path / "j") as journal:
        journal.retain(before=1000)
        assert logs(tmp_path / "j") == [8]
        assert journal.append([b"next"], timestamp=1000) == range(10, 11)


def test_reading_what_is_no_longer_retained_names_it(tmp_path: Path) -> None:
    with filled(tmp_path / "j") as journal:
        journal.retain(before=5)
        with pytest.raises(OffsetGoneError, match=r"appends 1 to 3 .* are no longer retained"):
            journal.read_arrow(1, 6)


def test_another_open_journal_sees_what_was_removed_and_goes_on(tmp_path: Path) -> None:
    with filled(tmp_path / "j") as journal, Journal.open(tmp_path / "j") as other:
        assert other.earliest_offset() == 0
        journal.retain(before=5)
        assert other.earliest_offset() == 4
        assert [record.offset for record in other.read(4)] == list(range(4, 10))


def test_a_day_old_segment_is_closed_so_that_it_can_go(tmp_path: Path) -> None:
    day = 24 * 3600 * 1_000_000
    with Journal.open(tmp_path / "j", clock=lambda: 0) as journal:
        for number in range(4):
            journal.append([b"x"], timestamp=number * day)
        assert logs(tmp_path / "j") == [0, 1, 2, 3]
