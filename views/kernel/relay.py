"""One slot's range mapped in parts side by side: how each part learns the clock that the parts before it leave.

An append is judged by its slot's clock just before it, so a part needs the largest chronon that was admitted before it.
That is known as soon as a part is decoded, unless an append with changes of a relation also moves the clock: whether it
is admitted depends on the clock itself, and then the part says so only after its admission. Clocks are handed on in
small files, which a second attempt of the same epoch finds as they were.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from views.kernel.admission import NO_CLOCK

_POLL_SECONDS = 0.001


class Relay(Protocol):
    def leave(self, clock: int) -> None:
        """Says the largest chronon that this part admits, NO_CLOCK for none."""
        ...

    def before(self) -> int:
        """The largest chronon that the parts before this one admit; waits for them."""
        ...


class Alone:
    """A range in one part."""

    def leave(self, clock: int) -> None:
        pass

    def before(self) -> int:
        return NO_CLOCK


ALONE = Alone()


@dataclass(frozen=True, slots=True)
class FileRelay:
    """`part` of the epoch's range of a slot; they are started in their order: the ones before are done or running."""

    directory: Path
    epoch: int
    slot: int
    part: int

    def leave(self, clock: int) -> None:
        path = self._file(self.part)
        beside = path.with_name(f".{path.name}")
        beside.write_text(str(clock))
        beside.rename(path)

    def before(self) -> int:
        return max((self._left_by(part) for part in range(self.part)), default=NO_CLOCK)

    def _left_by(self, part: int) -> int:
        while True:  # a part that fails ends this task too: Spark kills the stage
            try:
                return int(self._file(part).read_text())
            except FileNotFoundError:
                time.sleep(_POLL_SECONDS)

    def _file(self, part: int) -> Path:
        return self.directory / f"{self.epoch}-{self.slot}-{part}"
