"""The benchmarks compare like with like: every contender gives the same answers, and one that differs is told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks import kafka
from benchmarks.contenders.work import digest
from benchmarks.engine import CONTENDERS, fixed_cost, throughput
from benchmarks.figures import Figure, table
from benchmarks.race import require_equal

ROWS = [("by_kind", ("local",), 3, 12, 7), ("by_caller", ("c1",), 1, 5, 5)]


def test_a_digest_is_of_the_set_of_rows() -> None:
    assert digest(ROWS) == digest(reversed(ROWS))
    assert digest(ROWS) != digest(ROWS[:1])
    assert digest(ROWS) != digest([ROWS[0], ("by_caller", ("c1",), 1, 5, 6)])


def test_contenders_that_answer_differently_stop_the_race() -> None:
    with pytest.raises(AssertionError, match="answers differ"):
        require_equal({"ours": digest(ROWS), "native": digest(ROWS[:1])})


def test_what_could_not_be_measured_has_no_number() -> None:
    assert "| Polars | -  |" in table([Figure("Polars", math.nan, "", "", "not measured: polars is not installed")])


@pytest.mark.slow
@pytest.mark.spark
def test_every_contender_gives_the_same_answers_and_its_memory(tmp_path: Path) -> None:
    figures = throughput(tmp_path / "race", calls=4_000, rounds=1)
    shown = {figure.what: figure for figure in figures}
    measured = [shown[f"{name}, 4,000 calls, 4 views"] for name in list(CONTENDERS.values())[:3]]
    assert all(figure.value > 0 and " MB at most" in figure.detail for figure in measured)
    assert shown[f"{CONTENDERS['ours']} against {CONTENDERS['native']}"].value > 0


@pytest.mark.slow
@pytest.mark.spark
def test_small_epochs_are_measured_one_by_one(tmp_path: Path) -> None:
    epochs, empty, ratio = fixed_cost(tmp_path / "small", epochs=4)
    assert epochs.value / empty.value == pytest.approx(ratio.value)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_contenders_from_kafka_give_the_same_answers(tmp_path: Path) -> None:
    figures = kafka.throughput(tmp_path, calls=4_000, rounds=1)
    assert [figure.unit for figure in figures] == ["calls/s"] * 3 + ["times"] * 4
