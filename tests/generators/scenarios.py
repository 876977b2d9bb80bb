"""A definition and the records that it is fed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import strategies as st

from generators.appends import START, appends
from generators.definitions import definitions
from views.reference import Record

__all__ = ["START", "Scenario", "scenarios"]


@dataclass(frozen=True, slots=True)
class Scenario:
    definition: dict[str, Any]
    records: tuple[Record, ...]

    @property
    def text(self) -> str:
        """The definition file."""
        return yaml.safe_dump(self.definition, sort_keys=False, allow_unicode=True)

    def __repr__(self) -> str:
        shown = "\n".join(f"  {r.offset} at {r.timestamp}: {r.value!r}" for r in self.records)
        return f"Scenario of\n{self.text}and\n{shown}"


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    max_views: int = 3,
    max_records: int = 25,
    duplicates: bool = False,
    correct: bool = False,
    inexact: bool = True,
) -> Scenario:
    """`duplicates`: records delivered twice, as no journal does. `correct`: relations that take retroactive changes.
    `inexact`: aggregates of doubles, whose last digits depend on the order of addition."""
    definition = draw(definitions(max_views=max_views, correct=correct, inexact=inexact))
    return Scenario(definition, tuple(draw(appends(max_records=max_records, duplicates=duplicates))))
