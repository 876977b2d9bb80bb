"""Readers in other processes: a committed epoch is seen at once, and never half of it or anything older again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from state_cases import TOTALS, columns_of, encode, keys_of, outcome, prepare, values_of

from views.state import State

KEYS = [f"caller-{number:03d}" for number in range(40)]
EPOCHS = 300
READER = Path(__file__).with_name("state_reader.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def write_epoch(state: State, epoch: int) -> None:
    """Every key gets one call of `epoch` seconds, so that any two rows of one moment are equal."""

    state.shard(0).write(
        epoch,
        outcome(epoch, epoch, {"applied": len(KEYS)}),
        lambda shard: shard.merge(["totals"], keys_of(KEYS), columns_of([epoch] * len(KEYS))),
    )


@pytest.mark.slow
def test_two_readers_in_other_processes_never_see_half_an_epoch_or_go_back(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    write_epoch(state, 1)
    command = [sys.executable, str(READER), str(tmp_path), str(EPOCHS)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) for _ in range(2)]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
        for epoch in range(2, EPOCHS + 1):
            write_epoch(state, epoch)
        for reader in readers:
            out, _ = reader.communicate(timeout=120)
            assert reader.returncode == 0
            assert int(out) > 1, "the reader saw epochs while they were written"
    finally:
        for reader in readers:
            reader.kill()


@pytest.mark.slow
def test_a_committed_epoch_is_what_another_process_reads_next(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    write_epoch(state, 1)
    command = [sys.executable, str(READER), str(tmp_path), "asked"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for epoch in range(2, 20):
            write_epoch(state, epoch)
            reader.stdin.write("now\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == f"{epoch}\n"
        reader.stdin.close()


@pytest.mark.slow
def test_a_reader_that_was_killed_does_not_keep_old_pages(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    write_epoch(state, 1)
    command = [sys.executable, str(READER), str(tmp_path), "held"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "held\n"
        environment = state.shard(0).environment.env
        assert str(reader.pid) in environment.readers()
        reader.kill()
    write_epoch(state, 2)
    assert str(reader.pid) not in environment.readers()


def test_a_row_is_what_its_epoch_says(tmp_path: Path) -> None:
    """The law that the reader process checks, in this one."""
    state = prepare(tmp_path)
    for epoch in range(1, 4):
        write_epoch(state, epoch)
    with state.shard(0).read() as snapshot:
        rows = {values_of(TOTALS, snapshot.row("totals", encode([key]))) for key in KEYS}
    assert rows == {(3, 6)}
