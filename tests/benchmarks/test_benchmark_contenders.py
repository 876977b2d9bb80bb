"""The benchmarks compare like with like: every contender gives the same answers, and one that differs is told."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks import growth, kafka
from benchmarks.contenders import billing
from benchmarks.contenders.flink_kafka import last_rows
from benchmarks.contenders.work import digest, make
from benchmarks.engine import CONTENDERS, fixed_cost, throughput
from benchmarks.figures import Figure, table
from benchmarks.processes import contend
from benchmarks.race import disagreeing, race

ROWS = [("by_kind", ("local",), 3, 12, 7), ("by_caller", ("c1",), 1, 5, 5)]


def test_a_digest_is_of_the_set_of_rows() -> None:
    assert digest(ROWS) == digest(reversed(ROWS))
    assert digest(ROWS) != digest(ROWS[:1])
    assert digest(ROWS) != digest([ROWS[0], ("by_caller", ("c1",), 1, 5, 6)])


def test_contenders_that_answer_differently_stop_the_race() -> None:
    with pytest.raises(AssertionError, match="answers differ"):
        disagreeing({"ours": digest(ROWS), "native": digest(ROWS[:1])})


def test_one_that_answers_other_than_most_is_told_apart() -> None:
    assert disagreeing({"ours": digest(ROWS), "native": digest(ROWS)}) == []
    assert disagreeing({"ours": digest(ROWS), "native": digest(ROWS), "other": digest(ROWS[:1])}) == ["other"]


def test_what_could_not_be_measured_has_no_number() -> None:
    assert "| Polars | -  |" in table([Figure("Polars", math.nan, "", "", "not measured: polars is not installed")])


def test_of_a_log_of_changes_the_last_state_of_each_row_counts() -> None:
    changes = [
        "a warning\n",
        "by_kind:1> +I[local, 1, 5, 5]\n",
        "by_kind:1> -U[local, 1, 5, 5]\n",
        "by_kind:1> +U[local, 3, 12, 7]\n",
        "by_caller:2> +I[c1, 1, 5, 5]\n",
    ]
    assert digest(last_rows(changes)) == digest(ROWS)


def test_a_contender_that_is_missing_is_said_and_the_others_are_raced(tmp_path: Path) -> None:
    make(tmp_path, 400)
    ran = race(tmp_path, 400, {"dict_loop": "a loop", "no_such_contender": "nobody"}, rounds=2)
    figures = {figure.what: figure for figure in [*ran.figures(), ran.ratio("dict_loop", "no_such_contender")]}
    assert figures["a loop, 400 calls, 4 views"].value > 0
    assert "No module named" in figures["nobody"].detail
    assert math.isnan(figures["a loop against nobody"].value)


@pytest.mark.slow
@pytest.mark.spark
def test_every_contender_gives_the_same_answers_and_its_memory(tmp_path: Path) -> None:
    figures = throughput(tmp_path / "race", calls=4_000, rounds=1)
    shown = {figure.what: figure for figure in figures}
    measured = [shown[f"{name}, 4,000 calls, 4 views"] for name in list(CONTENDERS.values())[:3]]
    assert all(figure.value > 0 and " MB at most" in figure.detail for figure in measured)
    assert shown[f"{CONTENDERS['ours']} against {CONTENDERS['native']}"].value > 0


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.spark
def test_small_epochs_are_measured_one_by_one(tmp_path: Path) -> None:
    epochs, *empty, first, second = fixed_cost(tmp_path / "small", epochs=4)
    assert [epochs.value / each.value for each in empty] == pytest.approx([first.value, second.value])


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_contenders_from_kafka_give_the_same_answers(tmp_path: Path) -> None:
    contenders = {name: what for name, what in kafka.CONTENDERS.items() if name not in kafka.OPTIONAL}
    figures = kafka.throughput(tmp_path, calls=4_000, rounds=1, contenders=contenders)
    assert [figure.unit for figure in figures] == ["calls/s"] * 4 + ["times"] * 2 + [""] + ["times"] * 3
    assert all(figure.value > 0 for figure in figures if figure.unit)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.spark
def test_contenders_for_work_with_time_in_it_give_the_same_answers(tmp_path: Path) -> None:
    billing.make(tmp_path, 4_000)
    names = {name: name for name in ("billing_ours", "billing_duckdb", "billing_dicts")}
    ran = race(tmp_path, 4_000, names, rounds=1)
    assert ran.rounds.keys() == names.keys()
    assert not ran.missing


@pytest.mark.slow
def test_every_curve_of_the_kernels_has_a_cost_at_each_size(tmp_path: Path) -> None:
    curves = [
        growth.relation_versions(tmp_path / "versions", (100, 200)),
        *(curve for curve, _ in growth.rows_of_the_view(tmp_path / "rows", (100, 200), asked=1_000)),
        growth.closed_periods(tmp_path / "periods", (2, 4)),
        growth.classes(tmp_path / "classes", (10, 20)),
    ]
    for curve in curves:
        for points in curve.lines.values():
            assert len(points) == 2
            assert all(cost > 0 for _, cost in points)


@pytest.mark.slow
def test_many_views_are_measured(tmp_path: Path) -> None:
    printed = contend("many_views", tmp_path, "12").printed
    assert printed.keys() == {"check", "compile", "resident", "cost"}
    assert all(value > 0 for value in printed.values())
