"""Random chronicle groups and random appends for them: the input of every test that compares two evaluators.

    from generators import scenarios

    @given(scenario=scenarios())
    def test_engine_is_the_reference(scenario): ...

A scenario has the definition as YAML text and the records of one slot, in the order in which its source gave them.
"""

from generators.appends import appends
from generators.definitions import definitions
from generators.scenarios import START, Scenario, scenarios

__all__ = ["START", "Scenario", "appends", "definitions", "scenarios"]
