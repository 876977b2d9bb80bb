"""Whether the source answers: said once when it goes away and once when it is back, and how long to wait for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from chronicle.errors import ChronicleError
from streaming.source import SourceAwayError

Answer = TypeVar("Answer")
Say = Callable[[str], None]

_ASK_AGAIN_SECONDS = 0.5


def say_on_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Attendance:
    """`patience` are the seconds after which a source that stays away is a failure; None: never."""

    say: Say = say_on_stderr
    patience: float | None = None
    _since: float | None = None

    def asked(self, ask: Callable[[], Answer]) -> Answer | None:
        """The source's answer; None while it is away."""
        try:
            answer = ask()
        except SourceAwayError as error:
            self._miss(error)
            return None
        if self._since is not None:
            self.say(f"the source answers again, after {time.monotonic() - self._since:.0f} s")
            self._since = None
        return answer

    def awaited(self, ask: Callable[[], Answer], stopping: threading.Event) -> Answer | None:
        """The source's answer, however long it takes; None where the job is to stop meanwhile."""
        while not stopping.is_set():
            answer = self.asked(ask)
            if answer is not None:
                return answer
            stopping.wait(_ASK_AGAIN_SECONDS)
        return None

    def failed(self, error: SourceAwayError) -> None:
        """Says that something went wrong because of the source, where it was not said to be away already."""
        if self._since is None:
            self.say(f"{error.message}; it is repeated")

    def _miss(self, error: SourceAwayError) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self.say(f"{error.message}; waiting for it")
        elif self.patience is not None and now - self._since >= min(self.patience, error.worth_waiting):
            raise ChronicleError(f"{error.message}, for {now - self._since:.0f} s now", error.hint)
