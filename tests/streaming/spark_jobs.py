"""The real job in the tests' shared Spark session: what `chronicle run` does, without a session of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from chronicle.project import Project
from streaming.epochs import EpochRunner
from streaming.job import EpochReport, Job
from streaming.planning import meaning, settle_definition
from streaming.run import plan_of
from streaming.source import JOURNAL, JournalSource
from views.state import State, writer_lock


@contextmanager
def job_of(
    spark: SparkSession, project: Project, *, most: int = 1000, shards: int = 3, map_size: int = 1 << 24
) -> Iterator[Job]:
    """The job over the project's journal, holding its state's lock."""
    plan, means = plan_of(project), meaning(project.definition)
    assert project.journal_path is not None
    source = JournalSource.at(project.journal_path.absolute())
    with writer_lock(project.state_dir):
        if (project.state_dir / "meta.json").exists():
            settle_definition(State.open(project.state_dir.absolute()), means)
        state = State.prepare(
            project.state_dir.absolute(),
            project.definition.name,
            plan.view_layouts,
            plan.relation_layouts,
            shards=shards,
            tzdata="test",
            topics={JOURNAL.topic: 1},
            map_size=map_size,  # many states in one process: the usual 256 GiB each would use up the addresses
        ).of_journal(source.id)
        runner = EpochRunner(spark, plan, state, source)
        try:
            yield Job(spark, runner, source, most, _ignore, idle_seconds=600, means=means)
        finally:
            state.close()


def _ignore(report: EpochReport) -> None:
    """Nobody watches."""


def drain(job: Job) -> None:
    """Everything that is in the journal now."""
    job.repeat()
    job.repair()
    job.drain({slot: extent.next for slot, extent in job.source.extents().items()})
