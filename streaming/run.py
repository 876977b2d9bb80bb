"""`chronicle run` without its face: from a project to a job that keeps its views current."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Literal

from chronicle.definitions import JournalSource as JournalDefinition
from chronicle.errors import ChronicleError, DefinitionError
from chronicle.project import Project
from streaming.epochs import EpochRunner, JournalMapper
from streaming.job import Job, Watch, starts
from streaming.planning import consumed, meaning, settle_definition, to_repeat
from streaming.retention import Retention
from streaming.session import open_session
from streaming.source import JOURNAL, JournalSource, is_replayable
from views.kernel.failpoints import reach
from views.kernel.rebuild import to_rebuild
from views.plan import GroupPlan, plan_group
from views.state import Slot, State, writer_lock

MOST = 500_000
"""Appends an epoch takes at most, unless --max-batch says otherwise: bounds memory, not correctness."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    once: bool = False
    trigger: str = "500 milliseconds"
    most: int = MOST
    master: str = f"local[{os.cpu_count() or 2},4]"
    store: Literal["embedded", "delta"] | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the job found: told once, before the first epoch."""

    state: State
    plan: GroupPlan
    waiting: int
    added_views: tuple[str, ...]
    replayable: bool


def run(project: Project, options: RunOptions, begin: Callable[[Beginning], None], watch: Watch) -> State:
    """Runs until everything is drained (`once`) or SIGTERM or SIGINT; returns the state as it was left."""
    plan = plan_of(project)
    source = _source(project)
    with writer_lock(project.state_dir), _stopped_by_signals() as stopping:
        before = _known_views(project.state_dir)
        means = meaning(project.definition)
        if before is not None:
            settle_definition(State.open(project.state_dir.absolute()), means)
        state = prepared(project, plan, source)
        extents = source.extents()
        ends = {slot: extent.next for slot, extent in extents.items()}
        starts(extents, _consumed(state))  # what is missing is said before Spark is started
        begin(Beginning(state, plan, _waiting(state, ends), _added(state, before), is_replayable(extents)))
        retention = _retention(project, source)
        unsettled = to_repeat(state) or (is_replayable(extents) and to_rebuild(plan, state))
        if options.once and not _waiting(state, ends) and not unsettled:
            if retention is not None:
                retention.apply(ends[JOURNAL])
            return state
        spark = open_session(options.master, project.definition.name, log=_log(state, options))
        try:
            runner = EpochRunner(spark, plan, state, JournalMapper(source))
            idle_seconds = project.definition.idle.average / 1_000_000
            job = Job(spark, runner, source, options.most, watch, idle_seconds, means, retention, stopping)
            job.repeat()
            job.repair()
            if options.once:
                job.drain(ends)
            else:
                job.follow(options.trigger)
            return job.state
        finally:
            spark.stop()


def _retention(project: Project, source: JournalSource) -> Retention | None:
    retain = project.definition.retain
    return None if retain is None else Retention(source, retain.average)


def _log(state: State, options: RunOptions) -> Path | None:
    return None if options.verbose else state.directory / "spark.log"


def plan_of(project: Project) -> GroupPlan:
    """The plan of a definition of which every view is admitted; DefinitionError otherwise."""
    definition, verdict = project.definition, project.check()
    faults = [*verdict.errors, *(fault for view in verdict.views.values() for fault in view.refusals)]
    if faults:
        raise DefinitionError(faults)
    return plan_group(definition, verdict.admitted.values())


def _source(project: Project) -> JournalSource:
    if not isinstance(project.definition.source, JournalDefinition):
        raise ChronicleError("the Kafka source is not built into this version", "source: {journal: ...}")
    path = project.journal_path
    assert path is not None  # the source is a journal
    return JournalSource.at(path.absolute())


def prepared(project: Project, plan: GroupPlan, source: JournalSource) -> State:
    """The state of the project, made or opened by the one who holds its lock."""
    definition = project.definition
    state = State.prepare(
        project.state_dir.absolute(),
        definition.name,
        plan.view_layouts,
        plan.relation_layouts,
        shards=definition.shards,
        tzdata=version("tzdata"),
        topics={JOURNAL.topic: 1},
    )
    reach("prepared")
    return state.of_journal(source.id)


def _known_views(directory: Path) -> set[str] | None:
    from views.state import NoStateError, read_meta

    try:
        return set(read_meta(directory).views)
    except NoStateError:
        return None


def _added(state: State, before: set[str] | None) -> tuple[str, ...]:
    """Views that a state with history has only now: they start from here."""
    if before is None or state.shard(0).standing().epoch == 0:
        return ()
    return tuple(name for name in state.registry.views if name not in before)


def _consumed(state: State) -> dict[Slot, int]:
    """The offsets from which on some shard still needs the source."""
    return consumed(state.meta, min(state.standings(), key=lambda each: each.epoch))


def _waiting(state: State, ends: Mapping[Slot, int]) -> int:
    done = _consumed(state)
    return sum(max(0, end - done.get(slot, 0)) for slot, end in ends.items())


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """What SIGTERM and SIGINT set: the epoch under way is finished. A second SIGINT does not wait."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
