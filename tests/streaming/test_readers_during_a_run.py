"""Readers in other processes, while the job runs: a row never goes back in time, and is never of two epochs."""

from __future__ import annotations

import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from engine_cases import FIRST, project_in
from hammering import DEFINITION, KEYS, SECONDS, hammer
from running_jobs import running

from calendars import format_instant
from chronicle.journal import Journal

pytestmark = [pytest.mark.spark, pytest.mark.slow]

READERS = 2
EPOCHS = 25


def _call(offset: int) -> bytes:
    return json.dumps({"caller": offset % KEYS, "seconds": SECONDS, "at": format_instant(FIRST + offset)}).encode()


@pytest.mark.timeout(600)
def test_rows_never_go_back_in_time_and_are_never_torn(tmp_path: Path) -> None:
    project = project_in(tmp_path, DEFINITION)
    assert project.journal_path is not None
    context = multiprocessing.get_context("forkserver")
    done = threading.Event()
    with Journal.open(project.journal_path) as journal:
        journal.append([_call(offset) for offset in range(100)])

        def append() -> None:
            while not done.wait(0.01):
                at = journal.next_offset()
                journal.append([_call(offset) for offset in range(at, at + 13)])

        appender = threading.Thread(target=append)
        with running(tmp_path, "--trigger", "0ms") as job:
            job.wait_for_epochs(1)
            appender.start()
            readers = []
            for _ in range(READERS):
                (here, there), (stopped, stop) = context.Pipe(), context.Pipe(duplex=False)
                process = context.Process(target=hammer, args=(tmp_path / "chronicle.yaml", there, stopped))
                process.start()
                here.recv()
                readers.append((process, here, stop))
            job.wait_for_epochs(len(job.epochs) + EPOCHS)
            done.set()
            appender.join()
            for process, here, stop in readers:
                stop.send(None)
                lookups, states, faults = here.recv()
                process.join()
                assert faults == []
                assert lookups > 1000
                assert states > 3, "it has not seen the rows change"
            assert job.terminate() == 0, job.output()
