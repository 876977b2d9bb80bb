"""A crash leaves whole appends only; damage to what was acknowledged is never repaired by guessing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chronicle.journal import Journal, JournalDamagedError, JournalError, JournalReplacedError
from chronicle.journal import frames as frames_module

SEGMENT = f"{0:020d}.log"


def values(path: Path) -> list[bytes | None]:
    with Journal.open(path) as journal:
        return [record.value for record in journal.read()]


def crashed(path: Path, last: list[bytes]) -> tuple[bytes, int]:
    """A journal as it stands when a process dies after writing `last`, its marks not yet moved.

    The segment's bytes, and where the last batch begins.
    """
    with Journal.open(path) as journal:
        journal.append([b"one"])
        journal.append([b"two", b"three"])
        start = (path / SEGMENT).stat().st_size
        shutil.copy(path / "tail", path / "tail.before")
        journal.append(last)
    (path / "tail.before").replace(path / "tail")
    return (path / SEGMENT).read_bytes(), start


def test_a_tail_torn_at_any_byte_is_cut_back_to_the_last_whole_append(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole, start = crashed(path, [b"four", b"five"])
    tail = (path / "tail").read_bytes()
    for end in range(start, len(whole) + 1):
        (path / SEGMENT).write_bytes(whole[:end])
        (path / "tail").write_bytes(tail)
        expected = [b"one", b"two", b"three"] + ([b"four", b"five"] if end == len(whole) else [])
        assert values(path) == expected, end


def test_a_last_append_with_any_byte_wrong_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole, start = crashed(path, [b"four"])
    tail = (path / "tail").read_bytes()
    for at in range(start, len(whole)):
        torn = bytearray(whole)
        torn[at] ^= 0x41
        (path / SEGMENT).write_bytes(torn)
        (path / "tail").write_bytes(tail)
        assert values(path) == [b"one", b"two", b"three"], at


def test_a_batch_of_several_frames_torn_between_them_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames_module, "FRAME_BYTES", 50)
    path = tmp_path / "journal"
    whole, start = crashed(path, [b"x" * 50] * 4)
    frame = (len(whole) - start) // 4
    tail = (path / "tail").read_bytes()
    for count in range(4):
        (path / SEGMENT).write_bytes(whole[: start + count * frame])
        (path / "tail").write_bytes(tail)
        assert values(path) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("lose", [lambda tail: tail.write_bytes(bytes(256)), lambda tail: tail.unlink()])
def test_a_lost_tail_loses_nothing(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    path = tmp_path / "journal"
    with Journal.open(path, segment_bytes=150) as journal:
        for number in range(7):
            journal.append([b"%d" % number])
    lose(path / "tail")
    assert values(path) == [b"%d" % number for number in range(7)]


def test_appending_goes_on_after_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole, _ = crashed(path, [b"lost"])
    (path / SEGMENT).write_bytes(whole[:-3])
    with Journal.open(path) as journal:
        assert journal.append([b"next"]) == range(3, 4)
    assert values(path) == [b"one", b"two", b"three", b"next"]


def test_an_open_appender_clears_away_what_a_dead_one_left(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        journal.append([b"one"])
        with (path / SEGMENT).open("ab") as file:
            file.write(b"CHJ1 half a frame")
        assert journal.append([b"two"]) == range(1, 2)
    assert values(path) == [b"one", b"two"]


def test_acknowledged_bytes_that_are_missing_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        journal.append([b"one"])
    whole = (path / SEGMENT).read_bytes()
    (path / SEGMENT).write_bytes(whole[:-1])
    with pytest.raises(JournalDamagedError, match="were stored durably"):
        Journal.open(path)


def test_acknowledged_bytes_that_changed_are_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        for value in (b"one", b"two", b"three"):
            journal.append([value])
    damaged = bytearray((path / SEGMENT).read_bytes())
    damaged[60] ^= 1
    (path / SEGMENT).write_bytes(damaged)
    with Journal.open(path) as journal, pytest.raises(JournalDamagedError, match="is damaged at byte 0"):
        list(journal.read())
    (path / "tail").unlink()
    with pytest.raises(JournalDamagedError, match="appends after it are whole"):
        Journal.open(path)
    assert (path / SEGMENT).read_bytes() == bytes(damaged)


def test_a_message_that_quotes_a_frame_of_another_journal_is_only_a_message(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "other") as other:
        other.append([b"one"])
        other.append([b"two"])
    quoted = (tmp_path / "other" / SEGMENT).read_bytes()
    path = tmp_path / "journal"
    whole, _ = crashed(path, [quoted])
    (path / SEGMENT).write_bytes(whole[:-1])
    assert values(path) == [b"one", b"two", b"three"]


def test_a_full_disk_keeps_nothing_of_the_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    real = os.pwritev

    def full(file: int, blobs: list[bytes], position: int) -> int:
        real(file, [blobs[0][:10]], position)
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal.open(path) as journal:
        journal.append([b"one"])
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwritev", full)
            with pytest.raises(JournalError, match="nothing of it was kept"):
                journal.append([b"two"])
        assert journal.append([b"three"]) == range(1, 2)
    assert values(path) == [b"one", b"three"]


def test_an_append_whose_fsync_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal.open(tmp_path / "journal") as journal:
        journal.append([b"one"])
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", failing)
            with pytest.raises(JournalError, match="it was taken back"):
                journal.append([b"two"])
        assert journal.next_offset() == 1
        assert journal.append([b"three"]) == range(1, 2)
        assert [record.value for record in journal.read()] == [b"one", b"three"]


def test_a_journal_replaced_while_open_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal.open(path) as journal:
        path.rename(tmp_path / "moved")
        with Journal.open(path) as new:
            new.append([b"new"])
        with pytest.raises(JournalReplacedError):
            journal.append([b"old"])
        with pytest.raises(JournalReplacedError):
            journal.next_offset()
    assert values(path) == [b"new"]
