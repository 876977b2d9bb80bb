"""Several processes append at once, and any of them may be killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chronicle.journal import Journal

pytestmark = pytest.mark.slow

APPENDER = """
import sys
from chronicle.journal import Journal
path, name, batches, size, segment_bytes = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
with Journal.open(path, segment_bytes=segment_bytes) as journal:
    for batch in range(batches):
        offsets = journal.append([f"{name} {batch} {at} {size}".encode() for at in range(size)])
        print(batch, offsets.start, flush=True)
"""


def appender(path: Path, name: str, batches: int, size: int, segment_bytes: int = 4000) -> subprocess.Popen[str]:
    arguments = [path, name, batches, size, segment_bytes]
    command = [sys.executable, "-c", APPENDER, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(process: subprocess.Popen[str]) -> dict[int, int]:
    """Which batches the process was told are durable, and the first offset of each."""
    assert process.stdout is not None
    lines = [line.split() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    return {int(batch): int(start) for batch, start in lines}


def whole_batches(path: Path) -> dict[tuple[str, int], int]:
    """The batches in the journal and where they start, having checked that each is whole and unbroken."""
    found: dict[tuple[str, int], int] = {}
    with Journal.open(path) as journal:
        records = list(journal.read())
    at = 0
    while at < len(records):
        name, batch, _, size = (records[at].value or b"").decode().split()
        run = [record.value for record in records[at : at + int(size)]]
        assert run == [f"{name} {batch} {place} {size}".encode() for place in range(int(size))]
        assert (name, int(batch)) not in found
        found[name, int(batch)] = at
        at += int(size)
    return found


def test_appends_of_several_processes_are_all_there_and_each_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    processes = {name: appender(path, name, 60, size) for name, size in (("a", 1), ("b", 7), ("c", 20))}
    told = {name: acknowledged(process) for name, process in processes.items()}
    assert [process.wait(60) for process in processes.values()] == [0, 0, 0]
    found = whole_batches(path)
    assert found == {(name, batch): start for name, batches in told.items() for batch, start in batches.items()}
    assert len(found) == 180


def test_a_killed_appender_leaves_whole_appends_and_all_that_were_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    chance = random.Random(7)
    survivor = appender(path, "survivor", 150, 3)
    told: dict[tuple[str, int], int] = {}
    for attempt in range(5):
        name = f"killed{attempt}"
        process = appender(path, name, 1_000_000, 50)
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(1 + chance.randrange(12))]
        process.send_signal(signal.SIGKILL)
        rest = acknowledged(process)
        process.wait(60)
        rest.update((int(batch), int(start)) for batch, start in map(str.split, first))
        told.update({(name, batch): start for batch, start in rest.items()})
    told.update({("survivor", batch): start for batch, start in acknowledged(survivor).items()})
    assert survivor.wait(60) == 0
    found = whole_batches(path)
    assert told.items() <= found.items()
    assert sum(name == "survivor" for name, _ in found) == 150
