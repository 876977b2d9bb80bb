"""Where appends come from, as the driver sees it: which topic-partitions there are, and what they hold.

The journal is the topic `journal` with one partition. Kafka is in `streaming.kafka_source`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from chronicle.errors import ChronicleError
from chronicle.journal import Journal, JournalMissingError, JournalReplacedError
from views.kernel.map import SlotRange
from views.state import Slot

JOURNAL = Slot("journal", 0)


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets that a topic-partition holds: [earliest, next)."""

    earliest: int
    next: int


Extents = Mapping[Slot, Extent]


def is_replayable(extents: Extents) -> bool:
    """Whether the whole chronicle is there and has one order: a journal of which nothing was let go."""
    return JOURNAL in extents and extents[JOURNAL].earliest == 0


class OffsetsGoneError(ChronicleError):
    """The source no longer has appends that the state has not seen."""


class Source(Protocol):
    """Made on the driver; copies travel to Spark's own process for streaming sources, and to the workers that read."""

    def extents(self) -> Extents:
        """Every topic-partition of the group; raises SourceAwayError where the source does not answer."""
        ...

    def open(self) -> None:
        """Whatever a first read would have to wait for; what is wrong the read will say."""
        ...

    def read(self, part: SlotRange) -> pa.Table:
        """The messages of a range, as `Journal.read_arrow` gives them; raises SourceAwayError too."""
        ...

    def read_together(self, parts: Sequence[SlotRange]) -> Sequence[pa.Table]:
        """Those of each range, asked for at once."""
        ...


class SourceAwayError(ChronicleError):
    """The source does not answer now; it may later. `worth_waiting`: seconds after which that is not to be expected."""

    worth_waiting = math.inf


@dataclass(frozen=True, slots=True)
class JournalSource:
    """The embedded journal; each worker opens it by its path, and takes no other that lies there meanwhile."""

    path: Path
    id: str

    @classmethod
    def at(cls, path: Path) -> JournalSource:
        """The journal that lies there now; made where there is none."""
        return cls(path, _opened(path, create=True).id)

    def extents(self) -> Extents:
        journal = self._journal()
        return {JOURNAL: Extent(journal.earliest_offset(), journal.next_offset())}

    def open(self) -> None:
        with suppress(ChronicleError):
            self._journal()

    def read(self, part: SlotRange) -> pa.Table:
        return self._journal().read_arrow(part.start, part.end)

    def read_together(self, parts: Sequence[SlotRange]) -> Sequence[pa.Table]:
        return [self.read(part) for part in parts]

    def retain(self, before: int, floor: int) -> int:
        """Lets appends go that are older than `before` and below `floor`; returns the bytes freed."""
        return self._journal().retain(before, floor)

    def _journal(self) -> Journal:
        try:
            journal = _opened(self.path, create=False)
        except JournalMissingError:
            journal = None
        if journal is None or journal.id != self.id:
            raise ChronicleError(
                f"the journal {self.path} was {'removed' if journal is None else 'replaced by another'} under the job",
                "put it back and run again: the job continues where it stopped; or start a new state with --state",
            )
        return journal


_open: dict[Path, Journal] = {}


def _opened(path: Path, *, create: bool) -> Journal:
    """This process's handle on a journal; one that was replaced under its path is opened anew."""
    journal = _open.get(path)
    if journal is not None:
        try:
            journal.next_offset()
        except JournalReplacedError:
            del _open[path]
            journal = None
    if journal is None:
        journal = _open[path] = Journal.open(path, create=create)
    return journal


Reader = Callable[[SlotRange], pa.Table]
