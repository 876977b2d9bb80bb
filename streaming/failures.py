"""Errors that cross from a Python worker through the JVM to the driver, without the stacks of either."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

from chronicle.errors import ChronicleError
from streaming.source import SourceAwayError

_DIED = re.compile(r"Python worker exited unexpectedly", re.IGNORECASE)
_NOT_STARTED = re.compile(r"Python worker (failed )?to connect back", re.IGNORECASE)
_CARRIED = re.compile(r"chronicle-error:([A-Za-z0-9+/=]+):")


class CarriedError(RuntimeError):
    """A ChronicleError on its way: text that survives whatever wraps it."""

    def __init__(self, error: ChronicleError) -> None:
        away = isinstance(error, SourceAwayError)
        carried = b64encode(orjson.dumps([error.message, error.hint, away])).decode()
        super().__init__(f"chronicle-error:{carried}: {error.message}")


@contextmanager
def carried() -> Iterator[None]:
    """In a worker: a ChronicleError leaves in a form that the driver recognises."""
    try:
        yield
    except ChronicleError as error:
        raise CarriedError(error) from None


@contextmanager
def recognised() -> Iterator[None]:
    """On the driver: what a worker carried is raised as it was; anything else in one line."""
    try:
        yield
    except ChronicleError:
        raise
    except Exception as error:
        raise explained(error) from error


def explained(error: BaseException) -> ChronicleError:
    text = str(error)
    if found := _CARRIED.search(text):
        message, hint, away = orjson.loads(b64decode(found[1]))
        return SourceAwayError(message, hint) if away else ChronicleError(message, hint)
    if _DIED.search(text):
        return ChronicleError(
            "the Python workers of Spark that ran an epoch died, one after another: killed, or out of memory",
            "run again: the epoch is repeated exactly; a smaller --max-batch needs less memory",
        )
    if _NOT_STARTED.search(text):
        return ChronicleError(
            "Spark gave up waiting for a Python worker to start, four times: the machine is too busy, or out of memory",
            "run again when there is less to do on it: the epoch is repeated exactly",
        )
    return ChronicleError(f"Spark: {_gist(text) or type(error).__name__}", "--verbose shows Spark's log")


def _gist(text: str) -> str:
    """The last line of a Python traceback inside, otherwise the JVM's exception, otherwise the first line."""
    lines = [line.strip().removeprefix(": ") for line in text.strip().splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[A-Za-z_.]+(Error|Exception): ", line)]
    thrown = [line for line in raised if line.startswith(("org.", "java.", "scala."))]
    own = [line for line in raised if line not in thrown]
    return (own[-1] if own else thrown[0] if thrown else lines[0] if lines else "")[:500]
