"""Periods, panes and the states of a period (chronicle data model §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from calendars.instants import Instant

Extent = tuple[Instant, Instant]
"""`(start, end)` of a period."""


@dataclass(frozen=True, slots=True)
class Period:
    """`[start, end)`: period `n` of its calendar, named by its label."""

    n: int
    label: str
    start: Instant
    end: Instant

    def __contains__(self, instant: int) -> bool:
        return self.start <= instant < self.end


@dataclass(frozen=True, slots=True)
class Pane:
    """`[start, end)`: a stretch that no period starts or ends inside, so that every period is a union of panes."""

    start: Instant
    end: Instant


class PeriodState(StrEnum):
    """Open until its end, then in grace, then closed for good; expired when its rows are gone."""

    OPEN = "open"
    GRACE = "grace"
    CLOSED = "closed"
    EXPIRED = "expired"
