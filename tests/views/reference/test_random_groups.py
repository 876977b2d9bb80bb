"""What must hold of the reference for any definition and any appends."""

from __future__ import annotations

from generators import Scenario, scenarios
from hypothesis import given, settings

from chronicle.definitions import load_text
from views.check import check
from views.reference import Outcome, evaluate


def _outcome(scenario: Scenario, upto: int | None = None) -> Outcome:
    loaded = load_text(scenario.text)
    assert loaded.definition is not None, loaded.all_faults
    verdict = check(loaded)
    refused = [fault for view in verdict.views.values() for fault in view.refusals]
    assert not refused, "everything that is drawn lies in the algebra"
    return evaluate(loaded.definition, verdict.admitted, scenario.records[:upto])


@settings(max_examples=12)
@given(scenario=scenarios(duplicates=True))
def test_every_record_has_exactly_one_fate(scenario: Scenario) -> None:
    outcome = _outcome(scenario)
    assert sum(sum(counts.values()) for counts in outcome.fates.values()) == len(scenario.records)
    assert len(outcome.fate_of) == len(scenario.records)


@settings(max_examples=8)
@given(scenario=scenarios())
def test_fates_of_a_prefix_are_never_revised(scenario: Scenario) -> None:
    """An append is judged by what came before it, so what comes after cannot show."""
    half = len(scenario.records) // 2
    assert _outcome(scenario, half).fate_of == _outcome(scenario).fate_of[:half]


@settings(max_examples=8)
@given(scenario=scenarios())
def test_a_closed_period_never_changes_again(scenario: Scenario) -> None:
    before, after = _outcome(scenario, len(scenario.records) // 2), _outcome(scenario)
    for view, states in before.states.items():
        for key, state in states.items():
            if state == "closed" and after.states[view][key] == "closed":
                assert after.rows[view].get(key) == before.rows[view].get(key)
