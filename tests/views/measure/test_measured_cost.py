"""What `explain --measure` runs: samples that the kernels take as a user's appends, and points beside the bound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from generators import definitions
from hypothesis import given, settings

from chronicle.cli.init import EXAMPLES, copy_example
from chronicle.cli.main import run
from chronicle.definitions import load_text
from chronicle.project import Project
from views.kernel.engine import KernelError
from views.measure import Trial

GROUP = """chronicle: 1
name: n
chronicles: {calls: {columns: {caller: string, seconds: int64, kind: string, at: timestamp}, chronon: at}}
relations:
  customers: {key: [number], columns: {number: string, state: string, least: int64}}
views:
  alone: {from: calls, where: kind <> 'internal', group_by: caller, select: {n: count(*)}}
  joined:
    from: calls
    join: {customers: caller = number}
    where: customers.state = 'NJ'
    group_by: caller
    select: {n: count(*)}
  scanned: {from: calls, join: {customers: seconds > least}, group_by: caller, select: {n: count(*)}}
  broken: {from: calls, group_by: caller, select: {n: sum(cast(kind as int64))}}
"""


def trial(project: Project, name: str, directory: Path, versions: int) -> Trial:
    return Trial.begin(project.definition, project.check().admitted[name], directory, versions)


def fates(trial: Trial) -> dict[str, int]:
    with trial.state.shard(0).read() as snapshot:
        return {fate: count for fate, count in snapshot.tally().fates[0].items() if count}


def rows(trial: Trial) -> int:
    with trial.state.shard(0).read() as snapshot:
        return sum(1 for _ in snapshot.rows(trial.samples.view.name))


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_sample_is_applied_and_every_view_of_the_examples_gets_rows(example: str, tmp_path: Path) -> None:
    copy_example(example, tmp_path)
    project = Project.load(tmp_path / "chronicle.yaml")
    for name, view in project.check().admitted.items():
        made = trial(project, name, tmp_path / name, versions=20)
        made.append(200)
        made.append(200)
        assert fates(made) == {"applied": 400 + 20 * len(view.bound.relations)}, name
        assert rows(made) > 0, name
        made.state.close()


@settings(max_examples=20)
@given(definition=definitions(max_views=2))
def test_every_sample_of_a_random_definition_is_applied(
    definition: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("random")
    project = Project(load_text(json.dumps(definition)), directory)
    for name, view in project.check().admitted.items():
        made = trial(project, name, directory / name, versions=7)
        try:
            made.append(30)
        except KernelError:
            continue  # an expression that cannot be computed for some value: `explain` says so
        finally:
            made.state.close()
        assert fates(made) == {"applied": 30 + 7 * len(view.bound.relations)}


@pytest.mark.parametrize("name", ["joined", "scanned"])
def test_samples_join_what_the_relation_has(name: str, tmp_path: Path) -> None:
    made = trial(Project(load_text(GROUP)), name, tmp_path, versions=2_000)
    made.append(2_000)
    with made.state.shard(0).read() as snapshot:
        assert not any(counter.startswith("unmatched") for counter in snapshot.tally().counters)
    assert 100 < rows(made) <= 1_000
    made.state.close()


def explain(directory: Path, *arguments: str) -> int:
    path = directory / "chronicle.yaml"
    path.write_text(GROUP)
    return run(["explain", *arguments, "--measure", "-f", str(path)])


@pytest.mark.parametrize(("name", "allowed"), [("alone", None), ("scanned", 15.0)])
def test_the_measured_cost_stands_beside_what_the_bound_allows(
    name: str, allowed: float | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(tmp_path, name, "--json") == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    first, longer, *wider = measured["points"]
    assert all(point["microseconds"] > 0 for point in measured["points"])
    assert longer["history"] == 10 * first["history"]
    assert measured["history"]["ratio"] == pytest.approx(longer["microseconds"] / first["microseconds"])
    if allowed is None:
        assert (measured["versions"], wider) == (None, [])
    else:
        assert wider[0]["versions"] == 10 * first["versions"]
        assert measured["versions"]["allowed"] == pytest.approx(allowed)


def test_the_text_shows_each_point_and_what_it_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tmp_path, "joined") == 0
    shown = capsys.readouterr().out
    assert shown.count("µs an append") == 3
    assert "the bound allows 1.33 times" in shown


def test_a_view_that_the_samples_break_is_said_and_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tmp_path, "broken") == 1
    assert "broken cannot be measured with generated appends" in capsys.readouterr().err
