"""A scenario's records spread over the slots of a group, in epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from views.reference import Record


@dataclass(frozen=True, slots=True)
class Spread:
    """Records epoch by epoch, within an epoch slot by slot: what one slot knows of another in between is nothing.

    The first epoch has a malformed record of every slot, so that all of them are registered from the beginning.
    """

    epochs: tuple[tuple[Record, ...], ...]

    @property
    def records(self) -> list[Record]:
        return [record for epoch in self.epochs for record in epoch]

    @property
    def cuts(self) -> set[int]:
        """The places among the records where a new epoch begins."""
        ends = [sum(map(len, self.epochs[: number + 1])) for number in range(len(self.epochs))]
        return set(ends[:-1])


@st.composite
def spreads(draw: st.DrawFn, records: Sequence[Record], *, slots: int, epochs: int = 4) -> Spread:
    first = [Record(slot, 0, records[0].timestamp, None, (), b"{") for slot in range(slots)]
    nexts = dict.fromkeys(range(slots), 1)
    cut = sorted(draw(st.sets(st.integers(1, max(1, len(records) - 1)), max_size=epochs - 2)))
    parts = [records[start:end] for start, end in zip([0, *cut], [*cut, len(records)], strict=True)]
    spread = [tuple(first)]
    for part in parts:
        placed: list[Record] = []
        for record in part:
            slot = draw(st.integers(0, slots - 1))
            placed.append(record._replace(slot=slot, offset=nexts[slot]))
            nexts[slot] += 1
        if placed:
            spread.append(tuple(sorted(placed, key=lambda each: (each.slot, each.offset))))
    return Spread(tuple(spread))
