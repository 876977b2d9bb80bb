"""A view's rows against the batch answer, row by row.

Exact values are equal or they are not. Doubles agree to nine digits, because their last ones depend on the order of
additions; what the engine keeps as a sketch agrees within the sketch's bound. Where a sketch or a double is only near,
derived columns are judged by the view's own aggregates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from chronicle.types import Value
from streaming.recompute.aggregates import Between, Counts, Slack
from streaming.recompute.rows import Recomputed, RowKey, Rows
from views.checked import CheckedView
from views.derive import deriver

TOLERANCE = 1e-9
"""Relative, and absolute near zero."""

Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Difference:
    """`missing`: the view lacks the row. `extra`: the batch does. `different`: `columns` are not the same.

    `columns`: name -> (in the view, in the batch); of a missing or an extra row, all that it has.
    """

    kind: Literal["missing", "extra", "different"]
    row: RowKey
    columns: Mapping[str, tuple[Value, Value]]


def compare(view: CheckedView, batch: Rows, stored: Mapping[RowKey, Values]) -> list[Difference]:
    """In the order of periods and keys; rows whose values cannot be shown are on neither side."""
    found = [*_missing(view, batch, stored), *_extra(view, batch, stored)]
    for row_key, recomputed in batch.rows.items():
        if row_key in stored and (columns := _unlike(view, stored[row_key], recomputed)):
            found.append(Difference("different", row_key, columns))
    return sorted(found, key=lambda each: (each.row.start or 0, each.row.end or 0, repr(each.row.key)))


def _missing(view: CheckedView, batch: Rows, stored: Mapping[RowKey, Values]) -> Iterator[Difference]:
    for row_key, recomputed in batch.rows.items():
        if row_key not in stored:
            columns = {name: (None, recomputed.values[name]) for name in _value_columns(view)}
            yield Difference("missing", row_key, columns)


def _extra(view: CheckedView, batch: Rows, stored: Mapping[RowKey, Values]) -> Iterator[Difference]:
    for row_key, values in stored.items():
        if row_key not in batch.rows:
            yield Difference("extra", row_key, {name: (values[name], None) for name in _value_columns(view)})


def _unlike(view: CheckedView, stored: Values, batch: Recomputed) -> dict[str, tuple[Value, Value]]:
    aggregates = [aggregate.name for aggregate in view.summary.aggregates]
    unlike = {
        name: (stored[name], batch.values[name])
        for name in aggregates
        if not agree(stored[name], batch.values[name], batch.slack.get(name))
    }
    if unlike:
        return unlike
    expected = batch.values
    if any(stored[name] != batch.values[name] for name in aggregates):
        keys = {name: batch.values[name] for name, _ in view.summary.keys}
        expected = deriver(view)({**keys, **{name: stored[name] for name in aggregates}})
    return {
        derived.name: (stored[derived.name], expected[derived.name])
        for derived in view.derived
        if not agree(stored[derived.name], expected[derived.name])
    }


def agree(stored: Value, batch: Value, slack: Slack | None = None) -> bool:
    match slack:
        case Between(low, high) if isinstance(stored, int | float):
            return _near(float(stored), low) or _near(float(stored), high) or low <= stored <= high
        case Counts(exact, excess) if isinstance(stored, str):
            counts = [count for _, count in json.loads(stored)]
            pairs = zip(counts, exact, strict=False)
            return len(counts) == len(exact) and all(true <= count <= true + excess for count, true in pairs)
    if isinstance(stored, float) and isinstance(batch, float):
        return _near(stored, batch)
    return stored == batch


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (math.isnan(a) and math.isnan(b))


def _value_columns(view: CheckedView) -> list[str]:
    return [*(aggregate.name for aggregate in view.summary.aggregates), *(derived.name for derived in view.derived)]
