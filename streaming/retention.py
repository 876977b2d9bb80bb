"""`retain`: old segments of the journal go once every view has what is in them, looked after once a minute."""

from __future__ import annotations

import time
from dataclasses import dataclass

from streaming.source import JournalSource

EVERY_SECONDS = 60.0


@dataclass(slots=True)
class Retention:
    """`keep`: how long appends stay, in microseconds."""

    source: JournalSource
    keep: int
    _due: float = 0.0

    def apply(self, floor: int) -> None:
        """Between two epochs: appends at or after `floor`, the ledger's next offset, stay whatever their age."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY_SECONDS
            self.source.retain(time.time_ns() // 1000 - self.keep, floor)
