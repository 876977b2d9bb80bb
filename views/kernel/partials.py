"""What the map hands to the fold: partial states by key and period, relation changes, and the ledger's part."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from views.kernel.decoded import Int64s
from views.state import LEDGER_SHARD, PeriodEntry, Quarantined, ShardTransaction, shards_of

Columns = dict[str, npt.NDArray[Any]]
Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ViewPartials:
    """Partials of views that are laid out alike. One row per view, group and period (or pane): the view by its place in
    `views`, the encoded group key, the start, the state columns of the layout."""

    views: tuple[str, ...]
    of: Int32s
    keys: pa.BinaryArray
    starts: Int64s | None
    columns: Columns
    periods: tuple[PeriodEntry, ...]

    def merge_into(self, transaction: ShardTransaction) -> None:
        transaction.merge(self.views, self.keys, self.columns, self.starts, self.periods, self.of)

    def of_shards(self, shards: int) -> dict[int, ViewPartials]:
        """The same, apart by the shard of their key."""
        return {shard: self.take(rows) for shard, rows in _by_shard(self.keys, shards).items()}

    def take(self, rows: npt.NDArray[np.int64]) -> ViewPartials:
        if len(rows) == len(self.keys):
            return self
        return ViewPartials(
            self.views,
            self.of[rows],
            self.keys.take(pa.array(rows)),
            None if self.starts is None else self.starts[rows],
            {name: values[rows] for name, values in self.columns.items()},
            self.periods,
        )

    def compact(self) -> ViewPartials:
        """The same with those views only that have rows."""
        if len(self.views) == 1:
            return self
        there, of = np.unique(self.of, return_inverse=True)
        return replace(self, views=tuple(self.views[view] for view in there.tolist()), of=of.astype(np.int32))

    def only(self, wanted: Container[str]) -> ViewPartials | None:
        """The rows of these views; None where there are none."""
        kept = np.array([view in wanted for view in self.views], dtype=np.bool_)
        if kept.all():
            return self
        rows = np.flatnonzero(kept[self.of])
        return self.take(rows).compact() if len(rows) else None


def joined(results: Iterable[SlotResult]) -> list[ViewPartials]:
    """The partials of all results, those of views that are kept together as one: a row that several maps touched is
    merged before it is looked for in the state, and written once."""
    groups: list[list[ViewPartials]] = []
    of_view: dict[str, int] = {}
    for result in results:
        for partials in result.partials:
            group = next((of_view[view] for view in partials.views if view in of_view), len(groups))
            if group == len(groups):
                groups.append([])
            groups[group].append(partials)
            for view in partials.views:
                of_view.setdefault(view, group)
    return [parts[0] if len(parts) == 1 else _together(parts) for parts in groups]


def _together(parts: Sequence[ViewPartials]) -> ViewPartials:
    places = {view: place for place, view in enumerate(dict.fromkeys(view for part in parts for view in part.views))}
    renumbered = [np.array([places[view] for view in part.views], np.int32)[part.of] for part in parts]
    starts = [part.starts for part in parts if part.starts is not None]
    return ViewPartials(
        tuple(places),
        np.concatenate(renumbered),
        pa.concat_arrays([part.keys for part in parts]),
        np.concatenate(starts) if starts else None,
        {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
        tuple(dict.fromkeys(entry for part in parts for entry in part.periods)),
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
    partials: tuple[ViewPartials, ...]
    changes: Mapping[str, Changes]

    def of_shards(self, shards: int) -> list[SlotResult]:
        """The same, apart by shard: the ledger's part goes to all, the quarantine to the shard that keeps it."""
        partials: list[list[ViewPartials]] = [[] for _ in range(shards)]
        changes: list[dict[str, Changes]] = [{} for _ in range(shards)]
        for rows in self.partials:
            for shard, part in rows.of_shards(shards).items():
                partials[shard].append(part)
        for relation, changed in self.changes.items():
            for shard, share in changed.of_shards(shards).items():
                changes[shard][relation] = share
        return [
            replace(
                self,
                partials=tuple(partials[shard]),
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
