"""The kernels fed with records in epochs cut anywhere, and what they leave compared with the reference."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from chronicle.definitions import load_text
from chronicle.journal import HEADERS_TYPE
from chronicle.project import Project
from views.kernel.in_process import CORRECTS, run_epoch
from views.kernel.map import MapKernel, SlotRange
from views.kernel.rebuild import rebuild, to_rebuild
from views.lookup import Views, connect
from views.plan import plan_group
from views.reference import Outcome, Record
from views.state import EpochPlan, SlotPlan, State, Stretch, writer_lock

_SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("headers", pa.dictionary(pa.int32(), HEADERS_TYPE)),
        pa.field("value", pa.binary()),
    ]
)


def messages_of(records: Sequence[Record]) -> pa.Table:
    """Records as the journal and Kafka hand them to the map."""
    distinct = list(dict.fromkeys(tuple(record.headers) for record in records))
    pairs = [[{"key": key, "value": value} for key, value in headers] for headers in distinct]
    places = pa.array([distinct.index(tuple(record.headers)) for record in records], pa.int32())
    headers = pa.DictionaryArray.from_arrays(places, pa.array(pairs, HEADERS_TYPE))
    columns = [
        pa.array([record.offset for record in records], pa.int64()),
        pa.array([record.timestamp for record in records], pa.int64()),
        pa.array([record.key for record in records], pa.binary()),
        headers,
        pa.array([record.value for record in records], pa.binary()),
    ]
    return pa.table(columns, schema=_SCHEMA)


def project_of(text: str, directory: Path) -> Project:
    return Project(load_text(text), directory / "state")


def run_kernels(project: Project, records: Sequence[Record], cuts: Collection[int], shards: int) -> Views:
    """Runs the records of each slot through map and fold, one epoch between any two cuts (places among records)."""
    verdict = project.check()
    plan = plan_group(project.definition, verdict.admitted.values())
    slots = 1 + max((record.slot for record in records), default=0)
    with writer_lock(project.state_dir):
        state = State.prepare(
            project.state_dir,
            project.definition.name,
            plan.view_layouts,
            plan.relation_layouts,
            shards=shards,
            tzdata="test",
            topics={"journal": slots},
            map_size=1 << 24,
        )
        kernel = MapKernel(plan, state)
        try:
            for epoch, (first, last) in enumerate(pairwise(sorted({0, *cuts, len(records)})), start=1):
                _run(state, kernel, plan, epoch, records[first:last], slots)
                if stale := to_rebuild(plan, state):
                    state = rebuild(
                        plan, state, stale, lambda part: _between(records, part), [Stretch({0: (0, last)})], 7
                    )
                    kernel = MapKernel(plan, state)
        finally:
            state.close()
    return connect(project)


def _between(records: Sequence[Record], part: SlotRange) -> pa.Table:
    return messages_of([record for record in records if part.start <= record.offset < part.end])


def _run(state: State, kernel: MapKernel, plan: Any, epoch: int, records: Sequence[Record], slots: int) -> None:
    before = state.shard(0).standing()
    plans, tables = [], {}
    for slot in range(slots):
        own = [record for record in records if record.slot == slot]
        stood = before.slots.get(slot)
        high, clock = (stood.next_offset, stood.clock) if stood else (0, before.clock)
        end = max((record.offset + 1 for record in own), default=high)
        plans.append(SlotPlan(slot, min((r.offset for r in own), default=high), max(end, high), high, clock))
        tables[slot] = messages_of(own)
    planned = EpochPlan(epoch, tuple(plans), {CORRECTS: slots == 1})
    state.epochs.write(planned)

    def read(part: SlotRange) -> pa.Table:
        return tables[part.slot]

    run_epoch(plan, state, kernel, planned, read)


def assert_same_rows(views: Views, expected: Outcome) -> None:
    """Every row of every view, and the state of its period."""
    for name, rows in expected.rows.items():
        faults: list[Any] = []
        found = {
            (
                row.period.start if row.period else None,
                row.period.end if row.period else None,
                tuple(_plain(value) for value in row.key.values()),
            ): row
            for row in views[name].scan(on_fault=faults.append)
        }
        wanted = {(at.start, at.end, tuple(map(_plain, at.key))): row for at, row in rows.items()}
        assert found.keys() == wanted.keys(), name
        for at, row in found.items():
            _assert_equal_values(name, at, {**row.key, **row.values}, wanted[at])
        assert len(faults) == len(expected.overflowed[name]), name
        states = {(at.start, at.end, tuple(map(_plain, at.key))): s for at, s in expected.states[name].items()}
        assert {at: row.period.state for at, row in found.items() if row.period} == {
            at: states[at] for at in found if at[0] is not None
        }


def assert_same(views: Views, expected: Outcome) -> None:
    """Every row, every period's state, every fate and every refusal, as the reference has them."""
    assert_same_rows(views, expected)
    state = views.state
    standing = state.shard(0).standing()
    assert {slot: at.clock for slot, at in standing.slots.items()} == expected.clocks
    with state.shard(0).read() as snapshot:
        tally = snapshot.tally()
    fates = {slot: {f: n for f, n in counts.items() if n} for slot, counts in tally.fates.items()}
    assert fates == {slot: dict(counts) for slot, counts in expected.fates.items()}
    unmatched = dict.fromkeys(expected.unmatched, 0)
    for counter, count in tally.counters.items():
        kind, name, *_ = counter.split(":")
        if kind == "unmatched":
            unmatched[name] += count
    assert unmatched == expected.unmatched
    ledger = views.ledger()
    late = [(each.sn, each.view) for each in ledger.quarantine if each.fate == "late"]
    assert sorted(late) == sorted((sn, view) for sn, names in expected.refused_by.items() for view in names)
    others = [(each.sn, each.fate) for each in ledger.quarantine if each.fate != "late"]
    assert sorted(set(others)) == sorted({(refused.sn, refused.fate) for refused in expected.refusals})


def _assert_equal_values(view: str, at: object, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys(), (view, at)
    for name, value in wanted.items():
        got = found[name]
        if isinstance(value, float) and isinstance(got, float):
            assert math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-9) or (got != got and value != value), (view, name)
        else:
            assert got == value, (view, at, name)


def _plain(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
