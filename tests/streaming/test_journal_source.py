"""The journal as the job reads it: never another that lies at the same place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chronicle.errors import ChronicleError
from chronicle.journal import Journal
from streaming.source import JOURNAL, JournalSource
from views.kernel.map import SlotRange


def _filled(path: Path, count: int) -> None:
    with Journal.open(path) as journal:
        journal.append([b"{}"] * count)


def test_a_journal_that_is_replaced_under_the_job_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    _filled(path, 3)
    source = JournalSource.at(path)
    assert source.read(SlotRange(0, 0, 3, 0, None)).num_rows == 3
    shutil.move(path, tmp_path / "away")
    with pytest.raises(ChronicleError, match="was removed under the job"):
        source.extents()
    assert not path.exists(), "looking for it must not make one"
    _filled(path, 9)
    with pytest.raises(ChronicleError, match="was replaced by another under the job"):
        source.read(SlotRange(0, 3, 9, 3, None))
    shutil.rmtree(path)
    shutil.move(tmp_path / "away", path)
    assert source.extents()[JOURNAL].next == 3
