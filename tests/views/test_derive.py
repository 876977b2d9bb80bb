"""Tiers and derived columns on a finalised row (chronicle-data-model §5.3)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.definitions import load_text
from chronicle.types import Value
from views.check import check
from views.derive import deriver, shorten

TEXT = """
chronicle: 1
name: derived
chronicles:
  calls: {columns: {caller: string, seconds: int64, amount: "decimal(12,2)?", load: double}}
views:
  usage:
    from: calls
    group_by: caller
    select: {seconds: sum(seconds), spend: sum(amount), load: sum(load)}
    derive:
      minutes: round(seconds / 60, 1)
      volume: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      graduated: {tiers: {of: spend, mode: graduated, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      whole: {tiers: {of: seconds, mode: volume, steps: [{above: 100, rate: 0.5}]}}
      rough: {tiers: {of: load, mode: graduated, steps: [{above: 1, rate: 0.5}]}}
      due: spend - volume
"""


def derived(spend: str | None, seconds: int = 4120, load: float = 3.0) -> dict[str, Value]:
    view = check(load_text(TEXT)).admitted["usage"]
    amount = None if spend is None else Decimal(spend)
    return deriver(view)({"caller": "c1", "seconds": seconds, "spend": amount, "load": load})


@pytest.mark.parametrize(
    ("spend", "volume", "graduated"),
    [
        ("0.00", "0.00", "0.00"),
        ("10.00", "0.00", "0.00"),
        ("10.01", "1.001", "0.001"),
        ("25.00", "2.50", "1.50"),
        ("31.40", "6.28", "2.78"),
        ("-5.00", "0.00", "0.00"),
    ],
)
def test_a_step_counts_only_above_it_and_nothing_is_rounded(spend: str, volume: str, graduated: str) -> None:
    row = derived(spend)
    assert (str(row["volume"]), str(row["graduated"])) == (volume, graduated)


def test_the_contracts_example_row_is_as_it_shows() -> None:
    row = derived("31.40")
    assert [str(row[name]) for name in ("minutes", "volume", "due")] == ["68.7", "6.28", "25.12"]


def test_tiers_of_integers_are_exact_and_of_doubles_are_doubles() -> None:
    row = derived("1.00", seconds=101, load=3.0)
    assert str(row["whole"]) == "50.5"
    assert row["rough"] == 1.0


def test_tiers_of_null_are_null() -> None:
    row = derived(None)
    assert (row["volume"], row["graduated"], row["due"]) == (None, None, None)


@given(number=st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_shortening_never_changes_the_number(number: Decimal) -> None:
    short = shorten(number, 2)
    assert short == number
    assert str(short) == str(shorten(short, 2))
    assert len(str(short).partition(".")[2]) >= 2
