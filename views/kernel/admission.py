"""Admission: the fate of every append of one slot's range, by the slot's clock as it stood just before it.

In this order: duplicate, malformed, future, retroactive; what is left is admitted and moves the clock. Appends with
changes alone never move it, so clocks come from one running maximum; only where an append with both is refused for a
change must the clocks after it be taken again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from calendars import format_instant
from calendars.calendar import add_on_wall_clock
from calendars.durations import Duration, Unit
from calendars.zones import UTC
from views.kernel.decoded import AT, NO_CHRONON, SINCE, Decoded, Int64s
from views.plan import RelationPlan

NO_CLOCK = np.iinfo(np.int64).min
"""The clock of a slot that has admitted nothing: every instant is after it."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Refusal:
    fate: str
    reason: str


@dataclass(frozen=True, slots=True)
class Admission:
    """`clocks` is the slot's clock before each append, `clock` after the last. `refused`: place -> why. `changes` are
    the changes that take effect, with the valid_from at which they do."""

    admitted: Bools
    clocks: Int64s
    clock: int
    refused: Mapping[int, Refusal]
    changes: Mapping[str, pa.Table]


def admit(
    decoded: Decoded,
    taken_at: Int64s,
    duplicate: Bools,
    relations: Mapping[str, RelationPlan],
    max_skew: Duration,
    clock: int,
    others_clock: int,
) -> Admission:
    """`clock` is the slot's before the range, `others_clock` the largest of the other slots' as of the last epoch."""
    refused: dict[int, Refusal] = {}
    for place in np.flatnonzero(duplicate).tolist():
        refused[place] = Refusal("duplicate", "its sequence number was delivered before")
    for place, reason in decoded.malformed.items():
        refused.setdefault(place, Refusal("malformed", reason))
    _refuse_future(decoded, taken_at, max_skew, refused)
    admitted = np.ones(len(taken_at), dtype=np.bool_)
    admitted[list(refused)] = False
    clocks, after = _running(decoded.chronons, admitted, clock)
    changing = {name: table for name, table in decoded.changes.items() if table.num_rows}
    if not changing:
        return Admission(admitted, clocks, after, refused, {})
    while found := _retroactive(changing, relations, admitted, np.maximum(clocks, others_clock)):
        moving = min((place for place in found if decoded.chronons[place] != NO_CHRONON), default=len(taken_at))
        settled = {place: refusal for place, refusal in found.items() if place <= moving}
        refused |= settled
        admitted[list(settled)] = False
        if moving == len(taken_at):
            break
        clocks, after = _running(decoded.chronons, admitted, clock)
    group_clocks = np.maximum(clocks, others_clock)
    effective = {name: _effective(table, relations[name], admitted, group_clocks) for name, table in changing.items()}
    return Admission(admitted, clocks, after, refused, effective)


def moves_to(decoded: Decoded, taken_at: Int64s, duplicate: Bools, max_skew: Duration) -> int | None:
    """The largest chronon that will be admitted, whatever the clock before; None where that depends on the clock,
    because an append with tuples changes a relation too."""
    for table in decoded.changes.values():
        if (decoded.chronons[table.column(AT).to_numpy()] != NO_CHRONON).any():
            return None
    moving = (decoded.chronons != NO_CHRONON) & ~duplicate & (decoded.chronons <= _latest(taken_at, max_skew))
    moving[list(decoded.malformed)] = False
    return int(decoded.chronons[moving].max()) if moving.any() else NO_CLOCK


def _refuse_future(decoded: Decoded, taken_at: Int64s, max_skew: Duration, refused: dict[int, Refusal]) -> None:
    latest = _latest(taken_at, max_skew)
    for place in np.flatnonzero(decoded.chronons > latest).tolist():
        if place not in refused:
            chronon = format_instant(int(decoded.chronons[place]))
            taken = format_instant(int(taken_at[place]))
            reason = f"its chronon {chronon} is more than {max_skew} ahead of {taken}, when it was appended"
            refused[place] = Refusal("future", reason)


def _latest(taken_at: Int64s, max_skew: Duration) -> Int64s:
    """The latest chronon that is not in the future, for each append."""
    if max_skew.unit is Unit.ELAPSED:
        return taken_at + np.int64(max_skew.micros)
    distinct, inverse = np.unique(taken_at, return_inverse=True)
    moved = [add_on_wall_clock(UTC, instant, max_skew) for instant in distinct.tolist()]
    return np.array(moved, dtype=np.int64)[inverse]


def _running(chronons: Int64s, admitted: Bools, clock: int) -> tuple[Int64s, int]:
    """The clock before each append, and after all."""
    moving = np.where(admitted & (chronons != NO_CHRONON), chronons, NO_CLOCK)
    after = np.maximum.accumulate(np.concatenate(([clock], moving)))
    return after[:-1], int(after[-1])


def _retroactive(
    changes: Mapping[str, pa.Table], relations: Mapping[str, RelationPlan], admitted: Bools, clocks: Int64s
) -> dict[int, Refusal]:
    """The admitted appends with a change from the past that their relation rejects, judged by these clocks."""
    found: dict[int, Refusal] = {}
    for name, table in changes.items():
        if relations[name].retroactive != "reject":
            continue
        at, since = table.column(AT).to_numpy(), table.column(SINCE).to_numpy()
        for row in np.flatnonzero(admitted[at] & (clocks[at] != NO_CLOCK) & (since <= clocks[at])).tolist():
            place = int(at[row])
            valid, clock = format_instant(int(since[row])), format_instant(int(clocks[place]))
            reason = f"a change of {name} from {valid} on is retroactive: the clock stands at {clock}"
            found.setdefault(place, Refusal("retroactive", reason))
    return found


def _effective(table: pa.Table, relation: RelationPlan, admitted: Bools, clocks: Int64s) -> pa.Table:
    at = table.column(AT).to_numpy()
    kept = table if admitted[at].all() else table.filter(pa.array(admitted[at]))
    if relation.retroactive != "clamp":
        return kept
    at, since = kept.column(AT).to_numpy(), kept.column(SINCE).to_numpy()
    clock = clocks[at]
    clamped = np.where((clock != NO_CLOCK) & (since <= clock), clock + 1, since)
    return kept.set_column(kept.schema.get_field_index(SINCE), SINCE, pa.array(clamped))
