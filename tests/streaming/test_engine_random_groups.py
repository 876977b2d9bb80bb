"""The engine's rows and ledger are the reference's: random groups, appends, epochs and numbers of shards, on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine_cases import DEEP, assert_exact, journalled
from generators import Scenario, scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from spark_jobs import drain, job_of

import streaming.epochs
from chronicle.project import Project
from streaming.planning import next_plan
from streaming.source import JOURNAL

pytestmark = pytest.mark.spark

_shards = st.integers(1, 7)
_cuts = st.sets(st.integers(1, 24), max_size=3)


@contextmanager
def _project(scenario: Scenario) -> Iterator[Project]:
    """A project whose journal holds the records."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "chronicle.yaml")
        file.write_text(scenario.text)
        project = Project.load(file)
        journalled(project, scenario.records)
        yield project


def _run_epochs(spark: SparkSession, project: Project, ends: list[int], shards: int) -> None:
    with job_of(spark, project, shards=shards) as job:
        for end in ends:
            epoch = next_plan(job.state.meta, job.standing(), {}, {JOURNAL: end}, means=job.means)
            job.state.epochs.write(epoch)
            job.runner.run(epoch)


@settings(max_examples=400 if DEEP else 12)
@given(scenario=scenarios(), cuts=_cuts, shards=_shards)
def test_small_epochs_are_the_reference_for_any_cut_and_any_number_of_shards(
    spark: SparkSession, scenario: Scenario, cuts: set[int], shards: int
) -> None:
    with _project(scenario) as project:
        count = len(scenario.records)
        _run_epochs(spark, project, sorted({*(cut for cut in cuts if cut < count), count}), shards)
        assert_exact(project)


@settings(max_examples=400 if DEEP else 12)
@given(scenario=scenarios(), cuts=_cuts, shards=_shards)
def test_epochs_through_the_shuffle_are_the_reference_for_any_cut_and_any_number_of_shards(
    spark: SparkSession, scenario: Scenario, cuts: set[int], shards: int
) -> None:
    with _project(scenario) as project, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming.epochs, "SMALL", 0)
        count = len(scenario.records)
        _run_epochs(spark, project, sorted({*(cut for cut in cuts if cut < count), count}), shards)
        assert_exact(project)


@settings(max_examples=100 if DEEP else 4)
@given(scenario=scenarios(correct=True), most=st.sampled_from([3, 10, 1000]), shards=_shards)
def test_structured_streaming_cuts_the_journal_and_the_rows_are_the_reference(
    spark: SparkSession, scenario: Scenario, most: int, shards: int
) -> None:
    with _project(scenario) as project:
        with job_of(spark, project, most=most, shards=shards) as job:
            drain(job)
        assert_exact(project)
