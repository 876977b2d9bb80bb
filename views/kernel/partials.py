"""What the map hands to the fold: partial states by key and period, relation changes, and the ledger's part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from views.kernel.decoded import Int64s
from views.state import LEDGER_SHARD, PeriodEntry, Quarantined, shards_of

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ViewPartials:
    """One row per group and period (or pane): the encoded group key, the start, the state columns of the layout."""

    keys: pa.BinaryArray
    starts: Int64s | None
    columns: Columns
    periods: tuple[PeriodEntry, ...]

    def of_shards(self, shards: int) -> dict[int, ViewPartials]:
        """The same, apart by the shard of their key."""
        return {shard: self.take(rows) for shard, rows in _by_shard(self.keys, shards).items()}

    def take(self, rows: npt.NDArray[np.int64]) -> ViewPartials:
        if len(rows) == len(self.keys):
            return self
        return ViewPartials(
            self.keys.take(pa.array(rows)),
            None if self.starts is None else self.starts[rows],
            {name: values[rows] for name, values in self.columns.items()},
            self.periods,
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """Admitted changes of one relation, in the order of their appends."""

    keys: pa.BinaryArray
    valid_from: Int64s
    sns: Int64s
    deleted: npt.NDArray[np.bool_]
    rows: pa.Table

    def of_shards(self, shards: int) -> dict[int, Changes]:
        return {shard: self.take(rows) for shard, rows in _by_shard(self.keys, shards).items()}

    def take(self, rows: npt.NDArray[np.int64]) -> Changes:
        chosen = pa.array(rows)
        return Changes(
            self.keys.take(chosen), self.valid_from[rows], self.sns[rows], self.deleted[rows], self.rows.take(chosen)
        )


@dataclass(frozen=True, slots=True)
class SlotResult:
    """What one slot's range amounts to. `clock` is None as long as nothing was admitted."""

    slot: int
    next_offset: int
    clock: int | None
    fates: Mapping[str, int]
    counters: Mapping[str, int]
    quarantine: tuple[Quarantined, ...]
    partials: Mapping[str, ViewPartials]
    changes: Mapping[str, Changes]

    def of_shards(self, shards: int) -> list[SlotResult]:
        """The same, apart by shard: the ledger's part goes to all, the quarantine to the shard that keeps it."""
        partials: list[dict[str, ViewPartials]] = [{} for _ in range(shards)]
        changes: list[dict[str, Changes]] = [{} for _ in range(shards)]
        for view, rows in self.partials.items():
            for shard, part in rows.of_shards(shards).items():
                partials[shard][view] = part
        for relation, changed in self.changes.items():
            for shard, share in changed.of_shards(shards).items():
                changes[shard][relation] = share
        return [
            replace(
                self,
                partials=partials[shard],
                changes=changes[shard],
                quarantine=self.quarantine if shard == LEDGER_SHARD else (),
            )
            for shard in range(shards)
        ]


def _by_shard(keys: pa.BinaryArray, shards: int) -> dict[int, npt.NDArray[np.int64]]:
    if shards == 1:
        return {0: np.arange(len(keys))}
    of_row = shards_of(keys, shards)
    order = np.argsort(of_row, kind="stable")
    counts = np.bincount(of_row, minlength=shards)
    parts = np.split(order, np.cumsum(counts)[:-1])
    return {shard: rows for shard, rows in enumerate(parts) if len(rows)}
