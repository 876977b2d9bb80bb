"""What was appended is what is read, in whole batches and in order."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.journal import Headers, Journal, JournalError, JournalMissingError, OffsetGoneError, Record, records
from chronicle.journal import frames as frames_module
from chronicle.journal.marks import WRITTEN, read_mark

Message = tuple[bytes | None, Headers, bytes]

NAMES = st.sampled_from(["chronicle", "ce_type", ""])
HEADERS: st.SearchStrategy[Headers] = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=5)), max_size=2).map(
    tuple
)
MESSAGES = st.tuples(st.none() | st.binary(max_size=6), HEADERS, st.binary(max_size=40))
BATCHES = st.lists(st.lists(MESSAGES, min_size=1, max_size=8), max_size=6)


def appended(journal: Journal, batch: list[Message], at: int) -> list[Record]:
    keys, headers, values = zip(*batch, strict=True)
    offsets = journal.append(values, keys, timestamp=at, headers_each=headers)
    return [Record(offset, at, *message) for offset, message in zip(offsets, batch, strict=True)]


@given(BATCHES, st.integers(1, 400), st.data())
def test_any_range_reads_as_it_was_appended(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Message]], segment_bytes: int, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal")
    with Journal.open(path, segment_bytes=segment_bytes) as journal:
        expected = [record for at, batch in enumerate(batches) for record in appended(journal, batch, at)]
        end = journal.next_offset()
        assert [record.offset for record in expected] == list(range(end))
        first = data.draw(st.integers(0, end))
        last = data.draw(st.integers(first, end))
        assert list(journal.read(first, last)) == expected[first:last]
        assert list(records(journal.read_arrow(first, last))) == expected[first:last]
    with Journal.open(path) as again:
        assert list(again.read()) == expected


def test_a_batch_larger_than_a_frame_reads_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_module, "FRAME_BYTES", 100)
    values = [b"x" * size for size in (0, 10, 99, 100, 101, 300, 1)]
    with Journal.open(tmp_path / "journal") as journal:
        assert journal.append(values, headers=(("chronicle", b"calls"),)) == range(7)
        found = list(journal.read())
    assert [record.value for record in found] == values
    assert {record.headers for record in found} == {(("chronicle", b"calls"),)}
    assert len({record.timestamp for record in found}) == 1


def test_an_arrow_column_is_appended_like_its_values(tmp_path: Path) -> None:
    column = pa.chunked_array([pa.array(["a", "bc"]), pa.array(["", "d"])])
    with Journal.open(tmp_path / "journal") as journal:
        assert journal.append_arrow(column.slice(1), timestamp=5) == range(3)
        assert journal.append_arrow(pa.array([], pa.string())) == range(3, 3)
        assert [record.value for record in journal.read()] == [b"bc", b"", b"d"]
        with pytest.raises(JournalError, match="nulls"):
            journal.append_arrow(pa.array(["a", None]))


def test_many_small_appends_read_back_in_one_piece(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal", segment_bytes=20_000) as journal:
        for number in range(300):
            journal.append([b"%d" % number, b"!"], headers=(("n", b"%d" % (number % 3)),), timestamp=number)
        table = journal.read_arrow(101, 499)
    assert table["value"].to_pylist()[::2] == [b"!"] * 199
    assert table["timestamp"].to_pylist() == [offset // 2 for offset in range(101, 499)]
    assert [record.headers for record in records(table)][:2] == [(("n", b"2"),), (("n", b"0"),)]


def test_timestamps_never_go_back(tmp_path: Path) -> None:
    moments = iter([50, 50, 40, 60])
    with Journal.open(tmp_path / "journal", clock=lambda: next(moments)) as journal:
        for _ in range(3):
            journal.append([b"a"])
        assert [record.timestamp for record in journal.read()] == [50, 50, 60]
        with pytest.raises(JournalError, match="before that of the last append"):
            journal.append([b"a"], timestamp=59)


def test_offsets_outside_the_journal_are_refused(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal:
        journal.append([b"a"])
        for first, last in ((0, 2), (-1, 1)):
            with pytest.raises(OffsetGoneError, match="holds appends 0 to 0"):
                journal.read_arrow(first, last)


def test_a_reader_makes_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalMissingError, match="there is no journal"):
        Journal.open(tmp_path / "journal", create=False)
    assert not (tmp_path / "journal").exists()


def test_appenders_that_wait_share_one_fsync_and_nobody_reads_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 8
    synced: list[int] = []
    real = os.fdatasync
    with Journal.open(tmp_path / "journal") as journal:

        def slow_disk(file: int) -> None:
            """The first fsync ends only when every appender has written and waits for its own."""
            if not synced:
                assert journal.next_offset() == 0
                while (mark := read_mark(journal._layout.tail, WRITTEN)) is None or mark.next_offset < count:
                    threading.Event().wait(0.001)
            synced.append(file)
            real(file)

        monkeypatch.setattr(os, "fdatasync", slow_disk)
        threads = [threading.Thread(target=journal.append, args=([b"%d" % number],)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert {record.value for record in journal.read()} == {b"%d" % number for number in range(count)}
    assert len(synced) == 2
