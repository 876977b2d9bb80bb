"""`chronicle run` without its face: from a project to a job that keeps its views current."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import SparkSession

from chronicle.errors import ChronicleError, DefinitionError, UsageError
from chronicle.project import Project
from streaming.attendance import Attendance
from streaming.epochs import EpochRunner
from streaming.job import Job, Watch, starts
from streaming.kafka_source import KafkaSource
from streaming.planning import consumed, meaning, settle_definition, to_repeat
from streaming.replay import replay_of
from streaming.retention import Retention
from streaming.session import open_session
from streaming.source import JOURNAL, JournalSource
from views.kernel.failpoints import reach
from views.kernel.rebuild import to_rebuild
from views.plan import GroupPlan, plan_group
from views.state import NoStateError, Slot, State, read_meta, writer_lock
from views.state.storage import Storage

if TYPE_CHECKING:
    from streaming.delta.store import DeltaState

_Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

_MOMENT_SECONDS = 120.0

JOB_SETTINGS = {
    # the JVM carries blobs and never works on rows: what its second compiler does is never earned back
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Hadoop forks a `chmod` for each file and for its checksum; a checkpoint that is made anew needs none
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}

MOST = 500_000
"""Appends an epoch takes at most, unless --max-batch says otherwise: bounds memory, not correctness."""

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`patience`: how many seconds `once` waits for a source that is away."""

    once: bool = False
    trigger: str = "500 milliseconds"
    most: int = MOST
    master: str = f"local[{os.cpu_count() or 2},4]"
    store: Literal["embedded", "delta"] | None = None
    verbose: bool = False
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the job found: told once, before the first epoch. `replayable` are the views that can be built from
    the whole chronicle."""

    state: State
    plan: GroupPlan
    waiting: int
    added_views: tuple[str, ...]
    replayable: frozenset[str]


def run(
    project: Project,
    options: RunOptions,
    begin: Callable[[Beginning], None],
    watch: Watch,
    attendance: Attendance | None = None,
) -> State:
    """Runs until everything is drained (`once`) or SIGTERM or SIGINT; returns the state as it was left."""
    plan = plan_of(project)
    attendance = attendance or Attendance()
    source = _source(project, attendance)
    home = project.home
    with writer_lock(home.own), _stopped_by_signals() as stopping:
        before, store = _known_views(home), _store(project, options)
        if store == "embedded":
            _ = project.state_dir  # says that an object store is none
        means = meaning(project.definition)
        if isinstance(source, KafkaSource):
            source = source.settled(home)
        delta = _delta(project, plan, source) if store == "delta" else None
        if before is not None:
            settle_definition(delta.state if delta else State.open(project.state_dir.absolute()), means)
        state = delta.state if delta else prepared(project, plan, source)
        extents = attendance.awaited(source.extents, stopping)
        if extents is None:
            return state
        ends = {slot: extent.next for slot, extent in extents.items()}
        starts(extents, _consumed(state))  # what is missing is said before Spark is started
        stale = to_rebuild(plan, state)
        found = replay_of(plan, state, source) if stale else None
        fit = found.views if found is not None else frozenset()
        begin(Beginning(state, plan, _waiting(state, ends), _added(state, before), fit))
        retention = _retention(project, source)
        unsettled = to_repeat(state) or stale.keys() & fit
        if options.once and not _waiting(state, ends) and not unsettled:
            if retention is not None:
                retention.apply(ends[JOURNAL])
            return state
        log = None if options.verbose else home.own / "spark.log"
        name = project.definition.name
        spark = open_session(options.master, name, log=log, settings=JOB_SETTINGS)
        _heed(stopping)  # Spark has taken SIGINT for itself
        try:
            runner = delta.runner(spark, plan, source) if delta else EpochRunner(spark, plan, state, source)
            idle_seconds = project.definition.idle.average / 1_000_000
            job = Job(spark, runner, source, options.most, watch, idle_seconds, means, retention, stopping, attendance)
            if options.once:
                job.drain(ends)
            else:
                job.follow(options.trigger)
            return job.state
        except Exception:
            if stopping.is_set() and _ends(spark):
                return state  # the signal went to all of us: the next start repeats what was under way
            raise
        finally:
            with suppress(Exception):  # where the JVM is gone already
                spark.stop()


def _ends(spark: SparkSession) -> bool:
    """Whether the JVM has got the signal too: its context stops without being asked, within a moment, or it is gone. On
    a busy machine the process itself may take minutes to go."""
    until = time.monotonic() + _MOMENT_SECONDS
    while time.monotonic() < until:
        try:
            if spark.sparkContext._jsc.sc().isStopped():
                return True
        except Exception:
            return True
        time.sleep(0.05)
    return False


def _retention(project: Project, source: JournalSource | KafkaSource) -> Retention | None:
    retain = project.definition.retain
    return Retention(source, retain.average) if retain is not None and isinstance(source, JournalSource) else None


def plan_of(project: Project) -> GroupPlan:
    """The plan of a definition of which every view is admitted; DefinitionError otherwise."""
    definition, verdict = project.definition, project.check()
    faults = [*verdict.errors, *(fault for view in verdict.views.values() for fault in view.refusals)]
    if faults:
        raise DefinitionError(faults)
    return plan_group(definition, verdict.admitted.values())


def _source(project: Project, attendance: Attendance) -> JournalSource | KafkaSource:
    """The source; Kafka's once its brokers have answered."""
    path = project.journal_path
    own = [name for name, relation in project.definition.relations.items() if relation.source is not None]
    if path is not None and own:
        raise ChronicleError(
            f"the relation {own[0]} comes from Kafka, and the group's source is a journal",
            "give the group a Kafka source too, or append the relation's changes to the journal",
        )
    if path is not None:
        return JournalSource.at(path.absolute())
    source = KafkaSource.of(project.definition)
    attendance.awaited(source.extents, threading.Event())
    return source


def prepared(project: Project, plan: GroupPlan, source: JournalSource | KafkaSource) -> State:
    """The state of the project, made or opened by the one who holds its lock."""
    definition = project.definition
    state = State.prepare(
        project.state_dir.absolute(),
        definition.name,
        plan.view_layouts,
        plan.relation_layouts,
        shards=definition.shards,
        tzdata=version("tzdata"),
        topics=_topics(source),
    )
    reach("prepared")
    return state.of_journal(source.id) if isinstance(source, JournalSource) else state


def _store(project: Project, options: RunOptions) -> str:
    """A state knows its store: only a new one takes what is asked for."""
    try:
        held = read_meta(project.home).store
    except NoStateError:
        return options.store or "embedded"
    if options.store not in (None, held):
        raise UsageError(
            f"the state at {project.home} is kept in the {held} store, not in the {options.store} store",
            "leave --store away, or start a new state with --state",
        )
    return held


def _topics(source: JournalSource | KafkaSource) -> Mapping[str, int]:
    return {JOURNAL.topic: 1} if isinstance(source, JournalSource) else source.partitions()


def _delta(project: Project, plan: GroupPlan, source: JournalSource | KafkaSource) -> DeltaState:
    from streaming.delta.store import open_delta

    delta = open_delta(project, plan, _topics(source))
    return delta.of_journal(source.id) if isinstance(source, JournalSource) else delta


def _known_views(home: Storage) -> set[str] | None:
    try:
        return set(read_meta(home).views)
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
    before = _heed(stopping)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _heed(stopping: threading.Event) -> dict[signal.Signals, _Handler]:
    def stop(number: int, frame: FrameType | None) -> None:
        if stopping.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopping.set()

    return {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
