"""A shard's contents as partials, and a shard filled from them: a snapshot is the partial of all epochs up to its own.

That is what makes compaction sound: a merge of partials is a partial (chronicle-data-model, Theorem 4.4), so a view is
its snapshot and the partials since, whichever epochs the snapshot covers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa

from views.kernel.partials import Changes, SlotResult, ViewPartials
from views.state import NO_PERIOD, Registry, RelationLayout, ShardTransaction, Snapshot, ViewLayout, encode_keys
from views.state.versions import DELETED, FROM, INDEX, SN

ROWS = 50_000
"""Rows that one part holds at most, so that no shard has to be in memory as a whole."""

_EMPTY = SlotResult(0, 0, None, {}, {}, (), (), {})


def parts_of(snapshot: Snapshot, registry: Registry) -> Iterator[SlotResult]:
    """Everything that a shard holds beside its standing and its tally."""
    for name, (_, relation) in registry.relations.items():
        for versions in snapshot.scan_versions(name, ROWS):
            yield replace(_EMPTY, changes={name: _changes(relation, versions)})
    for name, (_, view) in registry.views.items():
        for partials in _partials(snapshot, name, view):
            yield replace(_EMPTY, partials=(partials,))
    refused = snapshot.quarantine()
    while some := tuple(islice(refused, ROWS)):
        yield replace(_EMPTY, quarantine=some)


def _partials(snapshot: Snapshot, name: str, view: ViewLayout) -> Iterator[ViewPartials]:
    periods = snapshot.periods(name)
    rows = snapshot.rows(name)
    while some := list(islice(rows, ROWS)):
        starts, keys, values = zip(*some, strict=True)
        there = set(starts)
        yield ViewPartials(
            (name,),
            np.zeros(len(keys), np.int32),
            pa.array(keys, pa.binary()),
            None if starts[0] == NO_PERIOD else np.array(starts, dtype=np.int64),
            view.row.unpack(values),
            tuple(replace(entry, rows=0) for entry in periods if entry.start in there),
        )


def _changes(relation: RelationLayout, versions: pa.Table) -> Changes:
    keys = encode_keys(relation.key_types, [versions.column(name) for name in relation.key], versions.num_rows)
    return Changes(
        keys,
        versions.column(FROM).to_numpy(),
        versions.column(SN).to_numpy(),
        versions.column(DELETED).to_numpy(zero_copy_only=False),
        versions.drop_columns([INDEX, FROM, SN, DELETED]),
    )


def apply(transaction: ShardTransaction, parts: Iterable[SlotResult]) -> None:
    """Merges parts into a shard, in their order: those of a snapshot, or the shares of an epoch."""
    for part in parts:
        for relation, changes in part.changes.items():
            transaction.put_versions(
                relation, changes.keys.to_pylist(), changes.valid_from, changes.sns, changes.deleted, changes.rows
            )
        for partials in part.partials:
            partials.merge_into(transaction)
        transaction.quarantine(part.quarantine)


def known_part(
    part: SlotResult, views: Collection[str], relations: Collection[str], quarantine_of: Collection[str] | None = None
) -> SlotResult:
    """What of a part concerns these views and relations; refusals of `quarantine_of`, where that is more."""
    refusing = views if quarantine_of is None else quarantine_of
    return replace(
        part,
        partials=tuple(known for each in part.partials if (known := each.only(views)) is not None),
        changes={name: each for name, each in part.changes.items() if name in relations},
        quarantine=tuple(each for each in part.quarantine if each.view is None or each.view in refusing),
    )


def unknown_part(part: SlotResult, views: Collection[str], relations: Collection[str]) -> SlotResult | None:
    """The rest, which travels on unread; None where there is none."""
    foreign = {view for each in part.partials for view in each.views if view not in views}
    partials = tuple(unknown for each in part.partials if (unknown := each.only(foreign)) is not None)
    changes = {name: each for name, each in part.changes.items() if name not in relations}
    quarantine = tuple(each for each in part.quarantine if each.view is not None and each.view not in views)
    if not partials and not changes and not quarantine:
        return None
    return replace(_EMPTY, partials=partials, changes=changes, quarantine=quarantine)
