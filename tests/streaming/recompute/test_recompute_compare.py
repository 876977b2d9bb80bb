"""When a value of the view and one of the batch are the same."""

from __future__ import annotations

from decimal import Decimal

import pytest

from chronicle.types import Value
from streaming.recompute.aggregates import Between, Counts
from streaming.recompute.compare import agree


@pytest.mark.parametrize(
    ("stored", "batch"),
    [(1, 1), (None, None), (Decimal("1.50"), Decimal("1.5")), (0.1 + 0.2, 0.3), (1e-12, 0.0), (float("nan"),) * 2],
)
def test_equal_values_agree_and_doubles_to_nine_digits(stored: Value, batch: Value) -> None:
    assert agree(stored, batch)


@pytest.mark.parametrize(
    ("stored", "batch"),
    [(1, 2), (None, 0), (0, None), (Decimal("1.50"), Decimal("1.51")), (0.3001, 0.3), ("a", "A"), (1e-3, 0.0)],
)
def test_unequal_values_do_not(stored: Value, batch: Value) -> None:
    assert not agree(stored, batch)


def test_an_estimate_agrees_within_its_bounds_only() -> None:
    assert agree(5100, 5000, Between(4600.0, 5400.0))
    assert agree(4.0, 5.0, Between(4.0, 6.0))
    assert not agree(5401, 5000, Between(4600.0, 5400.0))


def test_counts_of_the_most_frequent_may_be_too_high_by_the_bound_and_never_too_low() -> None:
    slack = Counts((10, 4), 2.0)
    assert agree('[["a", 12], ["b", 4]]', '[["a", 10], ["b", 4]]', slack)
    assert not agree('[["a", 13], ["b", 4]]', '[["a", 10], ["b", 4]]', slack)
    assert not agree('[["a", 9], ["b", 4]]', '[["a", 10], ["b", 4]]', slack)
    assert not agree('[["a", 10]]', '[["a", 10], ["b", 4]]', slack)
