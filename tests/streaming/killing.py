"""Processes that run the in-process job and are killed: forked from a server that has everything imported."""

from __future__ import annotations

import multiprocessing
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from engine_cases import append, bodies
from in_process_job import keep_current

from chronicle.journal import Journal

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["in_process_job"])
_NOW_AND_THEN = 0.25


def started(definition: Path, most: int, *, once: bool, failpoint: str = "") -> ForkServerProcess:
    """A job that has the state's lock and is about to run its first epoch (or is dead already)."""
    here, there = _context.Pipe(duplex=False)
    arguments = {"once": once, "failpoint": failpoint, "began": there}
    process = _context.Process(target=keep_current, args=(definition, most), kwargs=arguments)
    process.start()
    there.close()
    try:
        here.recv()
    except EOFError:
        process.join()
    here.close()
    return process


@contextmanager
def forked(work: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """A process that does the work, and the end of a pipe whose other end is the work's last argument."""
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=work, args=(*arguments, there))
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.join()


def killed(process: ForkServerProcess) -> bool:
    """Whether it died of SIGKILL, now that it is dead."""
    process.join()
    return process.exitcode == -signal.SIGKILL


def finished(definition: Path, most: int, failpoint: str = "") -> int | None:
    """The exit code of a job that drains the journal."""
    process = started(definition, most, once=True, failpoint=failpoint)
    process.join()
    return process.exitcode


@contextmanager
def appending(path: Path, seed: int, most: int) -> Iterator[None]:
    """Something is appended all the time, from a thread, while the block runs: so much quickly, then one now and then,
    so that whoever waits for one more epoch gets it."""
    done = threading.Event()
    chance, source = random.Random(seed), bodies(seed)

    def work() -> None:
        left = most
        with Journal.open(path) as journal:
            while not done.is_set():
                count = min(max(left, 1), chance.randrange(1, 9))
                append(journal, source, count)
                left -= count
                done.wait(chance.random() * 0.02 if left > 0 else _NOW_AND_THEN)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
