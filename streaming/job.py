"""The job: one writer per state, what a crash left repeated first, then Structured Streaming until it is told to stop.

Spark decides when there is something to do and cuts it into micro-batches; the ledger in the state says from where. A
query starts with a new checkpoint at the ledger's offsets every time, so a lost, stale or foreign one cannot matter.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from chronicle.errors import ChronicleError
from streaming.attendance import Attendance
from streaming.cutting import Cutting
from streaming.epochs import EpochRunner
from streaming.failures import explained
from streaming.planning import appends_in, consumed, next_plan, offsets_gone, to_repeat
from streaming.ranges import FORMAT, RangesSource, offsets_from_json, options_of
from streaming.replay import may_correct, replay_of
from streaming.retention import Retention
from streaming.source import JOURNAL, Extents, JournalSource, Source, SourceAwayError
from views.kernel.rebuild import to_rebuild
from views.state import EpochPlan, Meta, Slot, Standing, State

_LOOK_SECONDS = 0.05
_ASK_SECONDS = 1.0
_TRIES = 5
_OFFSET_LOG_LINE = 2
"""Line of the source's offsets in an entry of Spark's offset log: after the version and the batch's metadata."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What a committed epoch did, for those who watch."""

    epoch: int
    appends: int
    seconds: float
    waiting: int
    standing: Standing


Watch = Callable[[EpochReport], None]


@dataclass(slots=True)
class Job:
    """`most` appends make an epoch at most. `stopping` may be set from any thread: the epoch under way is finished."""

    spark: SparkSession
    runner: EpochRunner
    source: Source
    most: int
    watch: Watch
    idle_seconds: float
    means: str
    retention: Retention | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    attendance: Attendance = field(default_factory=Attendance)
    _working: threading.Lock = field(default_factory=threading.Lock)
    _moved: dict[Slot, tuple[int, float]] = field(default_factory=dict)
    _asked: float = 0.0
    _unfit: set[str] = field(default_factory=set)
    _cutting: Cutting | None = field(init=False)

    def __post_init__(self) -> None:
        self._cutting = None if isinstance(self.source, JournalSource) else Cutting.of(self.state)

    @property
    def state(self) -> State:
        return self.runner.state

    def standing(self) -> Standing:
        """Where every shard stands; all agree between epochs."""
        return self.state.shard(0).standing()

    def repeat(self) -> None:
        """Runs again what a crash left unfinished, from what was written down."""
        planned = to_repeat(self.state)
        if planned is not None:
            needed = {self.state.meta.slots[each.slot]: each.start for each in planned.slots if each.end > each.start}
            starts(self.source.extents(), needed)
            self._run(planned)

    def drain(self, until: Mapping[Slot, int]) -> None:
        """Streams until everything below `until` has its fate."""

        def reached() -> bool:
            done = consumed(self.state.meta, self.standing())
            return all(done.get(slot, 0) >= offset for slot, offset in until.items())

        self._steadily("0 seconds", reached)
        if self.retention is not None:
            self.retention.apply(self._floor())

    def follow(self, trigger: str) -> None:
        """Streams until `stopping` is set."""
        self._steadily(trigger, lambda: False)

    def _steadily(self, trigger: str, finished: Callable[[], bool]) -> None:
        """Streams; where the source fails an epoch, it is repeated from what was written down once the source is back.
        A source that answers and yet fails the same epoch again and again is a failure."""
        failed, tries = 0, 0
        while not self.stopping.is_set():
            try:
                self.repeat()
                self.repair()
                if not finished():
                    self._stream(trigger, finished)
                return
            except SourceAwayError as error:
                epoch = self.standing().epoch
                failed, tries = epoch, tries + 1 if epoch == failed else 1
                if tries > _TRIES:
                    raise
                self.attendance.failed(error)
                self.attendance.awaited(self.source.extents, self.stopping)

    def _stream(self, trigger: str, finished: Callable[[], bool]) -> None:
        checkpoints = self.state.directory / "checkpoint"
        shutil.rmtree(checkpoints, ignore_errors=True)
        checkpoint = checkpoints / uuid4().hex  # the JVM of a job that was killed may still write into its own
        start = starts(self.source.extents(), consumed(self.state.meta, self.standing()))
        ending = threading.Event()
        failures: list[BaseException] = []

        def batch(frame: DataFrame, number: int) -> None:
            with self._working:
                if ending.is_set() or self.stopping.is_set():
                    return
                try:
                    self._batch(_ends(checkpoint, number))
                except BaseException as error:
                    failures.append(error)
                    raise
                if finished():
                    ending.set()

        self.spark.dataSource.register(RangesSource)
        own = self.runner.plan.own_topics
        ranges = self.spark.readStream.format(FORMAT).options(**options_of(self.source, start, self.most, own)).load()
        stream = ranges.writeStream.foreachBatch(batch).option("checkpointLocation", str(checkpoint))
        query = stream.trigger(processingTime=trigger).start()
        try:
            with suppress(ChronicleError):  # what is wrong with the workers, the first epoch says
                self.runner.warm()
            while query.isActive and not ending.is_set() and not self.stopping.wait(_LOOK_SECONDS):
                self._look_after()
                self._ask_source()
        finally:
            with self._working:  # that is: between two epochs
                ending.set()
            query.stop()  # without the lock: a batch that begins now must see that it is over
        if failures:
            raise failures[0]
        if error := query.exception():
            raise explained(error)

    def _batch(self, ends: Mapping[Slot, int]) -> None:
        new = {slot for slot in ends if slot not in self.state.meta.slots}
        if new:
            self.runner.state = self.state.with_slots(slot for slot in ends if slot in new)
        standing = self.standing()
        begin: Mapping[Slot, int] = {}
        if len(standing.slots) < len(self.state.meta.slots):
            begin = {slot: extent.earliest for slot, extent in self.source.extents().items()}
        idle, corrects = self._idle(standing), self._may_correct()
        for part in self._in_turn(ends):
            standing = self.standing()
            plan = next_plan(self.state.meta, standing, begin, part, idle, corrects=corrects, means=self.means)
            if appends_in(plan) or not new <= _registered(self.state.meta, standing):
                self._run(plan)

    def _in_turn(self, ends: Mapping[Slot, int]) -> list[Mapping[Slot, int]]:
        """Changes that wait in topics of their own go before the tuples that wait, in an epoch of their own: so a tuple
        sees every change that was there when it was read, and none of another slot is in its epoch."""
        own = {slot: end for slot, end in ends.items() if slot.topic in self.runner.plan.own_topics}
        return [own, ends] if own else [ends]

    def _run(self, plan: EpochPlan) -> None:
        began = time.monotonic()
        if self._cutting is not None:
            self._cutting.settle(self.state)
            self._cutting.begin(plan, self.standing())
        self.state.epochs.write(plan)
        self.runner.run(plan)
        standing = self.standing()
        if standing.epoch != plan.epoch:
            raise ChronicleError(
                f"epoch {plan.epoch} was run and the state stands at epoch {standing.epoch}", "report this: it is a bug"
            )
        if self._cutting is not None:
            self._cutting.settle(self.state)
        self.repair()
        seconds, done = time.monotonic() - began, consumed(self.state.meta, standing)
        waiting = sum(max(0, end - done.get(slot, 0)) for slot, end in self._ends_seen().items())
        self.watch(EpochReport(plan.epoch, appends_in(plan), seconds, waiting, standing))
        self._let_go()

    def _ends_seen(self) -> Mapping[Slot, int]:
        try:
            return {slot: extent.next for slot, extent in self.source.extents().items()}
        except SourceAwayError:
            return {}

    def _may_correct(self) -> bool:
        """Whether some relation takes changes from the past, and all of the chronicle is there to repair from."""
        starts = {} if self._cutting is None else self._cutting.starts
        return may_correct(self.runner.plan, self.state, self.source, starts)

    def repair(self) -> None:
        """Builds anew what does not reflect the whole chronicle: new views, and those of corrected relations."""
        stale = to_rebuild(self.runner.plan, self.state)
        if not stale.keys() - self._unfit:
            return
        found = replay_of(self.runner.plan, self.state, self.source)
        fit = {} if found is None else {name: count for name, count in stale.items() if name in found.views}
        self._unfit |= stale.keys() - fit.keys()
        if fit and found is not None:
            self.runner.rebuild(fit, found.read, found.stretches, self.most)

    def _idle(self, standing: Standing) -> set[Slot]:
        """Slots that got nothing for so long that they follow the group's clock."""
        now = time.monotonic()
        idle: set[Slot] = set()
        for number, at in standing.slots.items():
            slot = self.state.meta.slots[number]
            offset, since = self._moved.get(slot, (-1, now))
            if offset != at.next_offset:
                self._moved[slot] = (at.next_offset, now)
            elif now - since >= self.idle_seconds and at.clock != standing.clock:
                idle.add(slot)
        return idle

    def _look_after(self) -> None:
        """What there is to do between two epochs without any append."""
        if not self._working.acquire(blocking=False):
            return
        try:
            self._advance_idle_slots()
            self._let_go()
        finally:
            self._working.release()

    def _ask_source(self) -> None:
        """Notices that the source is away, or that it lost what no view has seen, whatever Spark is waiting for."""
        if isinstance(self.source, JournalSource) or time.monotonic() < self._asked + _ASK_SECONDS:
            return
        between_epochs = self._working.acquire(blocking=False)
        try:
            extents = self.attendance.asked(self.source.extents)
            self._asked = time.monotonic()
            if extents is None:
                self._moved.clear()  # nobody is idle while nobody can be heard
            elif between_epochs:
                starts(extents, consumed(self.state.meta, self.standing()))
        finally:
            if between_epochs:
                self._working.release()

    def _advance_idle_slots(self) -> None:
        """An epoch that reads nothing and moves the clocks of idle slots, where there are any."""
        if len(self.state.meta.slots) < 2:
            return
        standing = self.standing()
        if idle := self._idle(standing):
            self._run(next_plan(self.state.meta, standing, {}, {}, idle, means=self.means))

    def _let_go(self) -> None:
        """Between two epochs: what the journal need not keep any longer."""
        if self.retention is not None:
            self.retention.look_after(self._floor)

    def _floor(self) -> int:
        """The first offset that some shard lacks: one that a crash left behind needs its epoch again."""
        return min(consumed(self.state.meta, standing).get(JOURNAL, 0) for standing in self.state.standings())


def starts(extents: Extents, known: Mapping[Slot, int]) -> dict[Slot, int]:
    """Where to go on: the ledger's offsets, and for slots that are new the earliest that there is."""
    lost = {
        slot: (offset, extents[slot].earliest) if offset < extents[slot].earliest else (extents[slot].next, offset)
        for slot, offset in known.items()
        if slot in extents and not extents[slot].earliest <= offset <= extents[slot].next
    }
    if lost:
        raise offsets_gone(lost)
    return {**{slot: extent.earliest for slot, extent in extents.items()}, **known}


def _registered(meta: Meta, standing: Standing) -> set[Slot]:
    """The slots that have a clock in the ledger."""
    return {meta.slots[number] for number in standing.slots}


def _ends(checkpoint: Path, batch: int) -> dict[Slot, int]:
    """How far a micro-batch reads, by Spark's own write-ahead log: it is written before the batch is run."""
    entry = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    return offsets_from_json(json.loads(entry[_OFFSET_LOG_LINE]))
