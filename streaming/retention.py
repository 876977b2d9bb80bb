"""`retain`: old segments of the journal go once every view has what is in them, looked after once a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from streaming.source import JournalSource

EVERY_SECONDS = 60.0


@dataclass(slots=True)
class Retention:
    """`keep`: how long appends stay, in microseconds. `every`: seconds between two looks."""

    source: JournalSource
    keep: int
    every: float = EVERY_SECONDS
    _due: float = 0.0

    def look_after(self, floor: Callable[[], int]) -> None:
        """`apply`, where it is time again."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + self.every
            self.apply(floor())

    def apply(self, floor: int) -> None:
        """Appends at or after `floor`, the first that some shard still lacks, stay whatever their age."""
        self.source.retain(time.time_ns() // 1000 - self.keep, floor)
