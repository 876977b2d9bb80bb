"""Where appends come from, as the driver sees it: which topic-partitions there are, and what they hold.

The journal is the topic `journal` with one partition. Kafka is in `streaming.kafka_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from chronicle.errors import ChronicleError
from chronicle.journal import Journal, JournalReplacedError
from views.kernel.map import SlotRange
from views.state import Slot

JOURNAL = Slot("journal", 0)


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets that a topic-partition holds: [earliest, next)."""

    earliest: int
    next: int


Extents = Mapping[Slot, Extent]


class OffsetsGoneError(ChronicleError):
    """The source no longer has appends that the state has not seen."""


class Source(Protocol):
    """Made on the driver; a copy travels to Spark's own process for streaming sources."""

    def extents(self) -> Extents:
        """Every topic-partition of the group; raises SourceAwayError where the source does not answer."""
        ...


class SourceAwayError(ChronicleError):
    """The source does not answer now; it may later."""


@dataclass(frozen=True, slots=True)
class JournalSource:
    """The embedded journal; each worker opens it by its path."""

    path: Path

    def extents(self) -> Extents:
        journal = opened(self.path)
        return {JOURNAL: Extent(journal.earliest_offset(), journal.next_offset())}

    def identity(self) -> str:
        return opened(self.path).id

    def read(self, part: SlotRange) -> pa.Table:
        return opened(self.path).read_arrow(part.start, part.end)


_open: dict[Path, Journal] = {}


def opened(path: Path) -> Journal:
    """This process's handle on a journal; one that was replaced under its path is opened anew."""
    journal = _open.get(path)
    if journal is not None:
        try:
            journal.next_offset()
        except JournalReplacedError:
            del _open[path]
            journal = None
    if journal is None:
        journal = _open[path] = Journal.open(path, create=True)
    return journal


Reader = Callable[[SlotRange], pa.Table]
