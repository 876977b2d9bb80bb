"""The group that these tests append to."""

from __future__ import annotations

from functools import cache

from chronicle.definitions import Definition, load_text

TEXT = """
chronicle: 1
name: telecom
chronicles:
  calls:
    columns: {caller: string, seconds: int64, amount: "decimal(6,2)", at: timestamp, note: string?}
    chronon: at
relations:
  customers:
    key: [number]
    columns: {number: string, state: string, credit: "decimal(6,2)?"}
"""

TWO = """
chronicle: 1
name: bank
chronicles:
  deposits: {columns: {account: string, amount: "decimal(9,2)"}}
  transfers: {columns: {account: string, day: date, ok: bool, rate: double}, strict: true}
"""


@cache
def definition(text: str = TEXT) -> Definition:
    loaded = load_text(text)
    assert loaded.definition is not None, loaded.faults
    return loaded.definition
