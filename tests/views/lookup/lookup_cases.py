"""A telecom group whose state is written by hand, append by append, through the state's own interface.

`Calls` stands in for the job: it admits calls in order and folds one epoch for each `commit`, so that lookups are
tested without the kernels and without Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from calendars import Calendar, parse_instant
from chronicle.project import Project
from views.aggregates.monoid import Contribution, columns_of_state
from views.checked import CheckedView
from views.lookup import Views, connect
from views.lookup.keyed import KeyedSpans
from views.state import (
    PERIOD_END,
    Outcome,
    PeriodEntry,
    Quarantined,
    RelationLayout,
    ShardTransaction,
    SlotStanding,
    State,
    key_encoder,
    layout_of,
    shard_of,
    state_column,
)

DEFINITION = """
chronicle: 1
name: telecom
shards: 3
chronicles:
  calls:
    columns: {caller: string, seconds: int64, amount: "decimal(12,2)", at: timestamp}
    chronon: at
relations:
  customers:
    key: [number]
    columns: {number: string, zone: string, since: timestamp}
calendars:
  month: {every: P1M}
  cycle: {every: P1M, anchor: customers.since, zone: customers.zone}
  moving3: {every: P1D, length: P3D}
views:
  totals: {from: calls, group_by: [caller], select: {calls: count(*), seconds: sum(seconds)}}
  usage:
    from: calls
    group_by: [caller]
    select: {calls: count(*), seconds: sum(seconds), spend: sum(amount)}
    period: {calendar: month, grace: P2D, expire_after: P3M}
    derive:
      minutes: round(seconds / 60, 1)
      discount: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      due: spend - discount
  moving: {from: calls, group_by: [caller], select: {seconds: sum(seconds)}, period: {calendar: moving3}}
  cycles:
    from: calls
    join: {customers: caller = number}
    group_by: [caller]
    select: {calls: count(*)}
    period: {calendar: cycle}
  everyone: {from: calls, select: {calls: count(*)}}
"""


def project_in(directory: Path, text: str = DEFINITION) -> Project:
    path = directory / "chronicle.yaml"
    path.write_text(text)
    return Project.load(path)


@dataclass
class Calls:
    """The appends of a group and the state they make."""

    project: Project
    epoch: int = 0
    offset: int = 0
    clock: int | None = None
    pending: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        definition = self.project.definition
        self.views = self.project.check().admitted
        layouts = [layout_of(view) for view in self.views.values()]
        self.relations = [RelationLayout(n, r.columns.columns, tuple(r.key)) for n, r in definition.relations.items()]
        self.state = State.prepare(
            self.project.state_dir, definition.name, layouts, self.relations,
            shards=definition.shards, tzdata="test", topics={"journal": 1},
        )  # fmt: skip

    def lookups(self) -> Views:
        return connect(self.project)

    def call(self, caller: str | None, at: str, seconds: int = 60, amount: int = 0) -> Calls:
        chronon = parse_instant(at)
        self.pending.append({"caller": caller, "at": chronon, "seconds": seconds, "amount": amount})
        self.offset += 1
        self.clock = max(chronon, self.clock or chronon)
        return self

    def customer(self, number: str, since: str, zone: str, valid_from: str = "2020-01-01T00:00:00Z") -> Calls:
        layout = self.relations[0]
        key = key_encoder(layout.key_types)([number])
        row = pa.table({"number": [number], "zone": [zone], "since": pa.array([parse_instant(since)], pa.int64())})
        row = row.set_column(2, "since", row["since"].cast(pa.timestamp("us", "UTC")))

        def work(shard: ShardTransaction) -> None:
            one = np.array([parse_instant(valid_from)])
            shard.put_versions("customers", [key], one, np.array([self.offset]), np.array([False]), row)

        self.offset += 1
        self._write({shard_of(key, self.state.shards): work}, {"applied": 1})
        return self

    def commit(self, refused: Sequence[Quarantined] = ()) -> Calls:
        """One epoch with everything that is pending."""
        pending, self.pending = self.pending, []
        work = {}
        for index in range(self.state.shards):

            def fold(shard: ShardTransaction, index: int = index) -> None:
                for view in self.views.values():
                    self._fold(shard, view, [call for call in pending if self._shard(view, call) == index])
                if index == 0:
                    shard.quarantine(refused)

            work[index] = fold
        fates = {"applied": len(pending)}
        for each in refused:
            self.offset += 1
            fates[each.fate] = fates.get(each.fate, 0) + 1
        self._write(work, fates)
        return self

    def _write(self, work: dict, fates: dict[str, int]) -> None:
        self.epoch += 1
        outcome = Outcome({0: SlotStanding(self.offset, self.clock)}, {0: fates})
        for index in range(self.state.shards):
            self.state.shard(index).write(self.epoch, outcome, work.get(index, lambda shard: None))

    def _key(self, view: CheckedView, call: dict[str, object]) -> bytes:
        return key_encoder([c.type for c in view.keys])([call[c.name] for c in view.keys])

    def _shard(self, view: CheckedView, call: dict[str, object]) -> int:
        return shard_of(self._key(view, call), self.state.shards)

    def _fold(self, shard: ShardTransaction, view: CheckedView, calls: list[dict[str, object]]) -> None:
        calendars = [self._calendar(view, call) for call in calls]
        kept = [(call, calendar) for call, calendar in zip(calls, calendars, strict=True) if calendar is not None]
        calls = [call for call, _ in kept]
        keys = pa.array([self._key(view, call) for call in calls], pa.binary())
        columns: dict[str, np.ndarray] = {}
        for (name, monoid), aggregate in zip(layout_of(view).monoids, view.summary.aggregates, strict=True):
            states = [monoid.prepare([Contribution(_value(aggregate, call))]) for call in calls]
            for part, values in columns_of_state(monoid.fields, states).items():
                columns[state_column(name, part)] = values
        if view.period is None:
            shard.merge([view.name], keys, columns)
            return
        panes = [calendar.pane_at(call["at"]) for call, calendar in kept]
        starts = np.array([pane.start for pane in panes], dtype=np.int64)
        if view.period.keyed_by is not None:
            columns[PERIOD_END] = np.array([pane.end for pane in panes], dtype=np.int64)
        shard.merge([view.name], keys, columns, starts, [PeriodEntry(pane.start, pane.end) for pane in panes])

    def _calendar(self, view: CheckedView, call: dict[str, object]) -> Calendar | str | None:
        if view.period is None:
            return "none"
        if view.period.keyed_by is None:
            return view.period.calendar
        spans = KeyedSpans(view, view.period, view.period.keyed_by, self.relations[0])
        found = spans.of(self.state, {"caller": call["caller"]})
        return None if found is None else found._calendar


def _value(aggregate, call: dict[str, object]):
    from decimal import Decimal

    if not aggregate.arguments:
        return 1
    name = aggregate.arguments[0].name
    return Decimal(call[name]).scaleb(-2) if name == "amount" else call[name]
