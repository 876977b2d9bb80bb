"""Views that differ in constants only are mapped together, and have the rows that each of them has by itself (§5.2)."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generators import Scenario, scenarios
from generators.definitions import CALENDARS, CHRONICLES, CUSTOMERS
from generators.kernels import assert_same, project_of, run_kernels
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.errors import ChronicleError
from views.lookup import Views
from views.plan import GroupPlan, plan_group
from views.reference import Record, evaluate

_CONSTANT = re.compile(r"\b(?:[1-9]|10|12|20)\b|'(?:day|c\d)'")


@st.composite
def _with_variants(draw: st.DrawFn) -> Scenario:
    """A scenario whose views are there several times, with other constants in their SQL."""
    scenario = draw(scenarios(max_views=2))

    def another(match: re.Match[str]) -> str:
        if match[0].startswith("'"):
            return draw(st.sampled_from([match[0], "'day'", "'night'", "'c1'", "'c2'"]))
        return str(draw(st.sampled_from([int(match[0]), 2, 4, 11])))

    views: dict[str, Any] = {}
    for name, view in scenario.definition["views"].items():
        views[name] = view
        for number in range(draw(st.integers(1, 3))):
            views[f"{name}_{number}"] = {**view, "sql": _CONSTANT.sub(another, view["sql"])}
    return replace(scenario, definition={**scenario.definition, "views": views})


@settings(max_examples=25)
@given(scenario=_with_variants(), cuts=st.sets(st.integers(1, 24), max_size=3), shards=st.sampled_from([1, 3]))
def test_views_that_are_mapped_together_are_the_reference(scenario: Scenario, cuts: set[int], shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = project_of(scenario.text, Path(directory))
        expected = evaluate(project.definition, project.check().admitted, scenario.records)
        views = run_kernels(project, scenario.records, {c for c in cuts if c < len(scenario.records)}, shards)
        try:
            assert_same(views, expected)
        finally:
            views.state.close()


def _text(views: dict[str, Any]) -> str:
    definition = {
        "chronicle": 1,
        "name": "many",
        "chronicles": CHRONICLES,
        "relations": {"customers": CUSTOMERS},
        "calendars": CALENDARS,
        "views": views,
    }
    return Scenario(definition, ()).text


def _plan(views: dict[str, Any]) -> GroupPlan:
    project = project_of(_text(views), Path("nowhere"))
    return plan_group(project.definition, project.check().admitted.values())


def _kind(number: int, **other: Any) -> dict[str, Any]:
    where = f"kind = 'k{number}' and seconds > {number}"
    return {"from": "calls", "where": where, "group_by": ["caller"], "select": {"n": "count(*)"}, **other}


def test_views_that_differ_in_constants_only_are_one_program() -> None:
    (program,) = _plan({f"v{number}": _kind(number) for number in range(50)}).programs
    assert program.views == tuple(f"v{number}" for number in range(50))
    assert program.constants is not None
    assert program.constants.rows[7] == ("k7", 7)


def test_a_constant_that_all_views_share_stays_in_the_query() -> None:
    views = {f"v{n}": {**_kind(n), "where": f"kind = 'day' and seconds > {n}"} for n in (1, 2)}
    (program,) = _plan(views).programs
    assert program.constants is not None
    assert program.constants.rows == ((1,), (2,))
    assert "'day'" in program.partial_sql


@pytest.mark.parametrize(
    "other",
    [
        {"select": {"n": "sum(seconds)"}},
        {"select": {"m": "count(*)"}},
        {"group_by": ["callee"]},
        {"period": {"calendar": "day"}},
        {"where": "kind = 'k1' and seconds >= 1"},
        {"where": "kind = 'k1' and amount > 1"},
    ],
)
def test_views_that_differ_otherwise_are_programs_of_their_own(other: dict[str, Any]) -> None:
    assert [program.views for program in _plan({"a": _kind(1), "b": _kind(1, **other)}).programs] == [("a",), ("b",)]


def test_the_plan_of_some_views_has_only_their_constants() -> None:
    plan = _plan({f"v{number}": _kind(number) for number in range(5)}).only({"v1", "v3"})
    (program,) = plan.programs
    assert [view.name for view in plan.views] == ["v1", "v3"]
    assert program.views == ("v1", "v3")
    assert program.constants is not None
    assert program.constants.rows == (("k1", 1), ("k3", 3))


DAY = 86_400_000_000
START = 1_769_810_400_000_000  # 2026-01-30T22:00:00Z


def _run(views: dict[str, Any], directory: Path, bodies: list[str], *, apart: bool) -> Views:
    """In one epoch, or each body in one of its own."""
    records = [Record(0, n, START + n * DAY, None, (), body.encode()) for n, body in enumerate(bodies)]
    return run_kernels(project_of(_text(views), directory), records, set(range(len(bodies))) if apart else set(), 1)


def _call(seconds: int, at: str = "2026-01-30T22:00:00Z") -> str:
    return (
        '{"_chronicle": "calls", "caller": "c1", "callee": "c2", "amount": "1.00", "kind": "day", '
        f'"seconds": {seconds}, "at": "{at}"}}'
    )


def test_an_error_names_the_one_view_and_the_append(tmp_path: Path) -> None:
    views = {
        f"v{n}": {
            "from": "calls",
            "where": f"seconds > {n}",
            "group_by": ["caller"],
            "select": {"n": f"max(seconds * {n})"},
        }
        for n in (2, 3, 4)
    }
    assert len(_plan(views).programs) == 1
    with pytest.raises(ChronicleError, match=r"view v4, append 4096 \(offset 1\)"):
        _run(views, tmp_path, [_call(1), _call((1 << 63) // 4)], apart=False)


def test_views_expire_in_turn_and_none_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.kernel.fold.EXPIRE_VIEWS", 2)
    period = {"calendar": "day", "expire_after": "P1D"}
    names = [f"v{number}" for number in range(5)]
    days = ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02", "2026-02-02", "2026-02-02"]
    kept = _run(
        {name: _kind(0, where=f"seconds > {place}", period=period) for place, name in enumerate(names)},
        tmp_path,
        [_call(9, f"{day}T22:00:00Z") for day in days],
        apart=True,
    )
    with kept.state.shard(0).read() as snapshot:
        assert {name: len(list(snapshot.rows(name))) for name in names} == dict.fromkeys(names, 2)  # of four days
