"""Admission again, in one pass over the heads of all appends: fates, and the clock just before each.

The clock depends on what was admitted before, and what is admitted on the clock, so no window function has it. A slot
knows the other slots' clocks as of the last epoch; where epochs were cut is in the state as far as it matters
(`views.state.cuts`), and this pass goes through the slots stretch by stretch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from chronicle.definitions import Definition
from chronicle.sequence import sequence_number
from streaming.recompute.decoding import relation_column
from views.state import Stretch

Int64s = npt.NDArray[np.int64]

ADMITTED = pa.schema(
    [
        pa.field("slot", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("sn", pa.int64()),
        pa.field("@place", pa.int64()),
        pa.field("@clock", pa.int64()),
        pa.field("@group", pa.int64()),
    ]
)
"""An admitted append: its place among all of them, its slot's clock just before it, and the group's."""


class Head(NamedTuple):
    """What admission asks of a message. `least_from` is the least `_from` of the changes that may be refused, `changed`
    are the relations that it changes, `stretch` is the place of the one that it is in."""

    slot: int
    offset: int
    malformed: bool
    future: bool
    chronon: int | None
    least_from: int | None
    changed: Sequence[str]
    stretch: int


@dataclass(slots=True)
class Admission:
    """`fates` are those that admission gives; whether an append is late is for each view to say. `crossed` counts by
    relation the changes for which what tuples of other slots joined is not retained: those of the same epoch."""

    admitted: list[tuple[int, int, int, int, int | None, int | None]] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    clocks: dict[int, int | None] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    crossed: Counter[str] = field(default_factory=Counter)

    def table(self) -> Any:
        columns = list(zip(*self.admitted, strict=True)) or [()] * len(ADMITTED)
        arrays = [pa.array(column, each.type) for column, each in zip(columns, ADMITTED, strict=True)]
        return pa.table(arrays, schema=ADMITTED)


def heads(decoded: DataFrame, definition: Definition, stretches: Sequence[Stretch] = ()) -> Iterator[Head]:
    """Stretch by stretch, and slot by slot in each: so nothing is before what knew of it."""
    least = ["CAST(NULL AS BIGINT)", "CAST(NULL AS BIGINT)"]
    for name, relation in definition.relations.items():
        if relation.retroactive == "reject":
            least.append(f"array_min(transform(`{relation_column(name)}`, x -> x.`@from`))")
    changed = [f"CASE WHEN size(`{relation_column(name)}`) > 0 THEN '{name}' END" for name in definition.relations]
    table = decoded.selectExpr(
        "slot", "offset", "malformed IS NOT NULL AS malformed", "future", "chronon",
        f"least({', '.join(least)}) AS least_from",
        f"CAST(array_compact(array({', '.join(changed)})) AS ARRAY<STRING>) AS changed",
    ).toArrow()  # fmt: skip
    slots, offsets = table.column("slot").to_numpy(), table.column("offset").to_numpy()
    placed = _placed(slots, offsets, stretches)
    table = table.append_column("stretch", pa.array(placed)).take(pa.array(np.lexsort((offsets, slots, placed))))
    for batch in table.to_batches():
        columns = (batch[name].to_pylist() for name in Head._fields)
        yield from map(Head._make, zip(*columns, strict=True))


def _placed(slots: Int64s, offsets: Int64s, stretches: Sequence[Stretch]) -> Int64s:
    """The place of each message's stretch; without any, all are one."""
    placed = np.zeros(len(slots), np.int64)
    for slot in np.unique(slots).tolist() if stretches else ():
        ends = [(stretch.ranges[slot][1], at) for at, stretch in enumerate(stretches) if slot in stretch.ranges]
        own = slots == slot
        within = np.searchsorted([end for end, _ in ends], offsets[own], side="right")
        placed[own] = np.array([at for _, at in ends], np.int64)[within]
    return placed


def admit(all_heads: Iterable[Head], stretches: Sequence[Stretch] = ()) -> Admission:
    found = Admission()
    begun, places = 0, count()
    for number, members in groupby(all_heads, lambda head: head.stretch):
        _begin(found, stretches[begun : number + 1])
        begun = number + 1
        _admit_stretch(found, members, places)
    _begin(found, stretches[begun:])
    return found


def _begin(found: Admission, stretches: Iterable[Stretch]) -> None:
    """Clocks that were moved otherwise than by appends: of slots that were idle, or that came later."""
    for stretch in stretches:
        for slot, clock in (stretch.clocks or {}).items():
            found.clocks[slot] = _largest((found.clocks.get(slot), clock))


def _admit_stretch(found: Admission, members: Iterable[Head], places: Iterator[int]) -> None:
    others = dict(found.clocks)
    changing: dict[str, Counter[int]] = {}
    appending: set[int] = set()
    for head in members:
        found.counts[head.slot] += 1
        clock = found.clocks.setdefault(head.slot, None)
        group = _largest((clock, *(each for slot, each in others.items() if slot != head.slot)))
        if head.malformed:
            found.fates["malformed"] += 1
        elif head.future:
            found.fates["future"] += 1
        elif group is not None and head.least_from is not None and head.least_from <= group:
            found.fates["retroactive"] += 1
        else:
            found.fates["applied"] += 1
            sn = sequence_number(head.offset, head.slot)
            found.admitted.append((head.slot, head.offset, sn, next(places), clock, group))
            found.clocks[head.slot] = _largest((clock, head.chronon))
            for relation in head.changed:
                changing.setdefault(relation, Counter())[head.slot] += 1
            if head.chronon is not None:
                appending.add(head.slot)
    for relation, slots in changing.items():
        found.crossed[relation] += sum(changes for slot, changes in slots.items() if appending - {slot})


def _largest(clocks: Iterable[int | None]) -> int | None:
    return max((clock for clock in clocks if clock is not None), default=None)
