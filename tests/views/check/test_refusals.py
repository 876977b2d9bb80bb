"""docs/refusals.md is the golden file: its texts, its examples and its fixes are what the checker says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refusal_cases import Documented, documented, expected, paste, verdict_of

from chronicle.cli.main import run
from chronicle.definitions import load, load_text
from views.check import Verdict, ViewVerdict, check
from views.parse.codes import Code

SECTIONS = documented()
REFUSED = Path(__file__).with_name("refused.yaml")
MORE = Path(__file__).with_name("refused_more.yaml")
FURTHER = expected(MORE)


@pytest.fixture(scope="module")
def further() -> Verdict:
    return check(load(MORE))


def test_every_code_is_documented_once() -> None:
    assert [section.code for section in SECTIONS] == [code.code for code in Code]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_documented_example_is_refused_as_documented(section: Documented) -> None:
    refusals = {fault.code: fault for fault in verdict_of(section.example).views["v"].refusals}
    fault = refusals[section.code]
    assert (fault.what, fault.why, fault.fix) == (section.what, section.why, section.fix)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_documented_fix_is_admitted_when_pasted(section: Documented) -> None:
    verdict = paste(section.fix)
    assert verdict.views
    assert not verdict.errors
    assert set(verdict.admitted) == set(verdict.views)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.code)
def test_refusal_points_into_the_view(section: Documented) -> None:
    for fault in verdict_of(section.example).views["v"].refusals:
        assert fault.place is not None
        assert fault.place.source.strip() in section.example
        assert 1 <= fault.place.column <= len(fault.place.source) + 1


def test_each_view_of_the_contract_is_refused_for_its_own_reason() -> None:
    verdict = check(load(REFUSED))
    codes = {name: [fault.code for fault in view.refusals] for name, view in verdict.views.items()}
    assert codes == {
        "product_of_chronicles": ["CH104"],
        "inequality_on_sn": ["CH105"],
        "sn_lost_inside": ["CH101"],
        "grouped_without_sn_inside": ["CH102"],
        "exact_distinct": ["CH110"],
        "median": ["CH111"],
        "clock": ["CH122"],
        "ordered": ["CH115", "CH116"],
        "having": ["CH117"],
    }


def test_each_fix_of_the_contract_is_admitted() -> None:
    group = REFUSED.read_text(encoding="utf-8").split("views:\n")[0]
    for view in check(load(REFUSED)).views.values():
        for fault in view.refusals:
            verdict = paste(fault.fix, group=group)
            assert verdict.views
            assert set(verdict.admitted) == set(verdict.views)


def test_every_fault_of_a_view_is_said_at_once(judge: Callable[[str], ViewVerdict]) -> None:
    view = judge(
        "SELECT caler, median(seconds) AS m FROM calls WHERE at > now() GROUP BY caler HAVING count(*) > 1 LIMIT 3"
    )
    assert {fault.code for fault in view.refusals} == {"CH301", "CH111", "CH122", "CH117", "CH116"}


def test_faults_come_in_the_order_of_the_text(judge: Callable[[str], ViewVerdict]) -> None:
    places = [
        fault.place for fault in judge("SELECT sum(callee) AS s FROM calls WHERE seconds ORDER BY s LIMIT 1").refusals
    ]
    columns = [place.column for place in places if place is not None]
    assert len(columns) == 4
    assert columns == sorted(columns)


def test_ambiguous_column_lists_the_candidates(judge: Callable[[str], ViewVerdict]) -> None:
    (fault, *_) = judge("SELECT at, count(*) AS n FROM calls JOIN payments USING (sn) GROUP BY at").refusals
    assert fault.code == "CH302"
    assert "calls.at" in fault.what
    assert "payments.at" in fault.what


def test_late_next_without_a_period_is_refused(judge: Callable[[str], ViewVerdict]) -> None:
    (fault,) = judge("from: calls\ngroup_by: [caller]\nselect: {n: count(*)}\nperiod: {late: next}").refusals
    assert "calendar" in fault.what


def test_a_refusal_reads_as_a_compiler_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REFUSED.parent)
    assert run(["check", "-f", REFUSED.name]) == 3
    assert capsys.readouterr().out == REFUSED.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FURTHER)
def test_a_view_is_refused_for_the_reasons_beside_it(further: Verdict, name: str) -> None:
    refusals = further.views[name].refusals
    assert set(FURTHER[name].split()) == {fault.code for fault in refusals}
    for fault in refusals:
        verdict = paste(fault.fix, group=MORE.read_text(encoding="utf-8").split("views:\n")[0])
        assert verdict.views
        assert set(verdict.admitted) == set(verdict.views)


@pytest.mark.parametrize("call", ["random()", "rand()", "uuid()", "gen_random_uuid()", "now()", "getdate()"])
def test_a_function_is_refused_by_the_name_that_was_written(judge: Callable[[str], ViewVerdict], call: str) -> None:
    (fault,) = judge(f"SELECT caller, count(*) AS n FROM calls WHERE {call} IS NULL GROUP BY caller").refusals
    assert f"'{call}'" in fault.what


def test_the_fix_of_an_unknown_chronicle_keeps_the_form_and_the_key(judge: Callable[[str], ViewVerdict]) -> None:
    (fault,) = judge("from: cals\ngroup_by: [caller]\nselect: {n: count(*)}").refusals
    assert fault.fix == "v:\n  from: calls\n  group_by: [caller]\n  select: {n: count(*)}"


def test_the_fix_of_an_unknown_chronicle_keeps_the_name_that_qualifies(judge: Callable[[str], ViewVerdict]) -> None:
    (fault,) = judge("SELECT cals.caller, count(*) AS n FROM cals GROUP BY cals.caller").refusals
    assert "FROM calls AS cals" in fault.fix


def test_the_fix_of_an_ambiguous_column_is_one_that_fits() -> None:
    group = (
        "chronicle: 1\nname: g\nchronicles: {lines: {columns: {number: string, place: int64, open: bool}}}\n"
        "relations: {owners: {key: [number, open], columns: {number: string, open: int64, name: string}}}\n"
    )
    query = "SELECT name, count(*) AS n FROM lines JOIN owners ON lines.number = owners.number AND place = open"
    view = f'views:\n  v: {{sql: "{query} GROUP BY name"}}\n'
    (fault,) = check(load_text(group + view)).views["v"].refusals
    assert "lines.open or owners.open" in fault.what
    assert "place = owners.open" in fault.fix
    assert set(paste(fault.fix, group=group).admitted) == {"v"}


def test_a_name_that_cannot_be_says_what_names_are(judge: Callable[[str], ViewVerdict]) -> None:
    (fault,) = judge('SELECT caller AS "who is", count(*) AS n FROM calls GROUP BY caller').refusals
    assert fault.what == "a column cannot be called 'who is': names have a-z, 0-9 and _, first a letter"
