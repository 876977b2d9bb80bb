"""Admission again, in one pass over the heads of all appends: fates, and the clock just before each.

The clock depends on what was admitted before, and what is admitted on the clock, so no window function has it. A slot
knows the other slots' clocks as of the last epoch, and epochs are not retained: with several slots, this pass takes
the others as they stood when the message was taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from chronicle.definitions import Definition
from chronicle.sequence import sequence_number
from streaming.recompute.decoding import relation_column

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
    """What admission asks of a message. `least_from` is the least `_from` of the changes that may be refused."""

    slot: int
    offset: int
    timestamp: int
    malformed: bool
    future: bool
    chronon: int | None
    least_from: int | None


@dataclass(slots=True)
class Admission:
    """`fates` are those that admission gives; whether an append is late is for each view to say."""

    admitted: list[tuple[int, int, int, int, int | None, int | None]] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    clocks: dict[int, int | None] = field(default_factory=dict)

    def table(self) -> Any:
        columns = list(zip(*self.admitted, strict=True)) or [()] * len(ADMITTED)
        arrays = [pa.array(column, each.type) for column, each in zip(columns, ADMITTED, strict=True)]
        return pa.table(arrays, schema=ADMITTED)


def heads(decoded: DataFrame, definition: Definition) -> Iterator[Head]:
    """In the order in which the sources took them."""
    least = ["CAST(NULL AS BIGINT)", "CAST(NULL AS BIGINT)"]
    for name, relation in definition.relations.items():
        if relation.retroactive == "reject":
            least.append(f"array_min(transform(`{relation_column(name)}`, x -> x.`@from`))")
    asked = decoded.selectExpr(
        "slot", "offset", "timestamp", "malformed IS NOT NULL AS malformed", "future", "chronon",
        f"least({', '.join(least)}) AS least_from",
        "max(timestamp) OVER (PARTITION BY slot ORDER BY offset) AS taken",
    )  # fmt: skip
    table = asked.orderBy("taken", "slot", "offset").drop("taken").toArrow()
    for batch in table.to_batches():
        columns = (batch[name].to_pylist() for name in Head._fields)
        yield from map(Head._make, zip(*columns, strict=True))


def admit(all_heads: Iterable[Head]) -> Admission:
    found = Admission()
    for place, head in enumerate(all_heads):
        clock = found.clocks.setdefault(head.slot, None)
        group = _largest(found.clocks.values())
        if head.malformed:
            found.fates["malformed"] += 1
        elif head.future:
            found.fates["future"] += 1
        elif group is not None and head.least_from is not None and head.least_from <= group:
            found.fates["retroactive"] += 1
        else:
            found.fates["applied"] += 1
            sn = sequence_number(head.offset, head.slot)
            found.admitted.append((head.slot, head.offset, sn, place, clock, group))
            found.clocks[head.slot] = _largest((clock, head.chronon))
    return found


def _largest(clocks: Iterable[int | None]) -> int | None:
    return max((clock for clock in clocks if clock is not None), default=None)
