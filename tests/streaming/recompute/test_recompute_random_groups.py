"""Two of the three answers must agree for any definition and any appends: Spark SQL in batch, and the reference."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from generators import Scenario, scenarios
from hypothesis import Phase, given, settings
from recomputing import answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@settings(max_examples=6, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking takes a query a step
@given(scenario=scenarios(max_views=4, correct=True))
def test_recomputed_rows_are_those_of_the_reference(spark: SparkSession, scenario: Scenario) -> None:
    found = answers(spark, scenario.text, scenario.records)
    assert not found.differences()
    assert found.fates == dict(sum(found.reference.fates.values(), Counter()))
