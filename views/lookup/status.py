"""How the group stands: offsets, lag, clock, rows, sizes, and who is at work; also before there is any state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calendars import Calendar, PeriodState, format_instant
from views.lookup.periods import Spans
from views.lookup.source_ends import end_offsets
from views.state import FATES, LEDGER_SHARD, EpochLog, NoStateError, Slot, State, Tally, holder_of
from views.state.standing import NOTHING, Standing

if TYPE_CHECKING:
    from views.lookup.connection import Views


@dataclass(frozen=True, slots=True)
class Status:
    """`lag` is None where the source cannot be asked; `epoch_seconds` is how long the last epoch took. `periods` are
    the retained periods of each view whose keys share a calendar, counted by their state."""

    standing: Standing
    slots: tuple[Slot, ...]
    lag: int | None
    rows: Mapping[str, int]
    periods: Mapping[str, Mapping[str, int]]
    fates: Mapping[str, int]
    counters: Mapping[str, int]
    shards: int
    size_bytes: int
    pid: int | None
    epoch_seconds: float | None

    @property
    def offsets(self) -> dict[str, dict[str, int]]:
        offsets: dict[str, dict[str, int]] = {}
        for number, slot in enumerate(self.slots):
            at = self.standing.slots.get(number)
            offsets.setdefault(slot.topic, {})[str(slot.partition)] = at.next_offset if at else 0
        return offsets

    @property
    def clocks(self) -> dict[str, str | None]:
        """The clock of every slot, by `topic-partition`."""
        clocks: dict[str, str | None] = {}
        for number, slot in enumerate(self.slots):
            at = self.standing.slots.get(number)
            clock = at.clock if at else None
            clocks[f"{slot.topic}-{slot.partition}"] = None if clock is None else format_instant(clock)
        return clocks

    def _view_json(self, name: str) -> dict[str, Any]:
        counted = self.periods.get(name)
        return {"rows": self.rows[name]} | ({} if counted is None else {"periods": dict(counted)})

    def to_json(self) -> dict[str, Any]:
        clock = self.standing.clock
        return {
            "epoch": self.standing.epoch,
            "clock": None if clock is None else format_instant(clock),
            "lag": self.lag,
            "offsets": self.offsets,
            "views": {name: self._view_json(name) for name in self.rows},
            "fates": dict(self.fates),
            "counters": dict(self.counters),
            "clocks": self.clocks,
            "committed": format_instant(self.standing.committed_at) if self.standing.epoch else None,
            "epoch_seconds": self.epoch_seconds,
            "shards": self.shards,
            "state_bytes": self.size_bytes,
            "pid": self.pid,
        }


def status_of(views: Views) -> Status:
    """The least standing of the shards: what every row reflects."""
    ends = end_offsets(views.project)
    try:
        state = views.state
    except NoStateError:
        slots = tuple(ends or {})
        lag = None if ends is None else sum(ends.values())
        rows = dict.fromkeys(views, 0)
        return Status(NOTHING, slots, lag, rows, {}, dict.fromkeys(FATES, 0), {}, 0, 0, None, None)
    standing = min(state.standings(), key=lambda each: each.epoch)
    rows, tally = _rows(state, views), _tally(state)
    return Status(
        standing,
        state.meta.slots,
        _lag(state, standing, ends),
        rows,
        _periods(state, views),
        tally.total(),
        tally.counters,
        state.shards,
        state.size_bytes,
        holder_of(views.home.own),
        _epoch_seconds(state.epochs, standing),
    )


def _tally(state: State) -> Tally:
    with state.shard(LEDGER_SHARD).read() as snapshot:
        return snapshot.tally()


def _rows(state: State, views: Views) -> dict[str, int]:
    """Stored rows; of a view whose periods overlap, one for each pane of a key."""
    rows = dict.fromkeys(views, 0)
    for index in range(state.shards):
        with state.shard(index).read() as snapshot:
            counts = snapshot.tally().rows
        for name in rows:
            if name in state.meta.views:
                rows[name] += counts.get(state.meta.views[name].id, 0)
    return rows


def _periods(state: State, views: Views) -> dict[str, dict[str, int]]:
    shared = {
        name: Spans(view.period, view.period.calendar)
        for name, view in views.checked.items()
        if view.period is not None and isinstance(view.period.calendar, Calendar) and name in state.registry.views
    }
    starts: dict[str, set[int]] = {name: set() for name in shared}
    clocks: list[int | None] = []
    for index in range(state.shards):
        with state.shard(index).read() as snapshot:
            clocks.append(snapshot.standing().least_clock)
            for name, found in starts.items():
                found |= {entry.start for entry in snapshot.periods(name)}
    clock = min((each for each in clocks if each is not None), default=None)
    counted: dict[str, dict[str, int]] = {}
    for name, spans in shared.items():
        states = Counter(span.state(clock) for span in spans.over(starts[name]))
        counted[name] = {each.value: states[each] for each in PeriodState if each is not PeriodState.EXPIRED}
    return counted


def _lag(state: State, standing: Standing, ends: Mapping[Slot, int] | None) -> int | None:
    if ends is None:
        return None
    consumed = {state.meta.slots[slot]: at.next_offset for slot, at in standing.slots.items()}
    return sum(max(0, end - consumed.get(slot, 0)) for slot, end in ends.items())


def _epoch_seconds(epochs: EpochLog, standing: Standing) -> float | None:
    """From the plan's writing to the commit; None while the next epoch is under way."""
    planned = epochs.written_at()
    if planned is None or planned > standing.committed_at:
        return None
    return (standing.committed_at - planned) / 1_000_000
