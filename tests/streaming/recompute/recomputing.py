"""Both batch answers to one question: the reference evaluator's and recompute's, over the same records."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chronicle.definitions import load_text
from chronicle.types import Value
from streaming.recompute.records import listed_records
from streaming.recompute.rows import Rows, rows_of
from streaming.recompute.tables import load, session_of
from views.check import check
from views.checked import CheckedView
from views.reference import Outcome, Record, evaluate
from views.state import Stretch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Answers:
    reference: Outcome
    recomputed: Mapping[str, Rows]
    fates: Mapping[str, int]
    views: Mapping[str, CheckedView]
    crossed: Mapping[str, int]

    def differences(self) -> list[str]:
        """What the two do not agree on, as text."""
        found = []
        for name, rows in self.recomputed.items():
            expected = self.reference.rows[name]
            ours = {tuple(key): row.values for key, row in rows.rows.items()}
            found += [f"{name}: {key} is missing" for key in expected if tuple(key) not in ours]
            found += [f"{name}: {key} is too much" for key in ours if key not in {tuple(each) for each in expected}]
            for key, row in expected.items():
                mine = ours.get(tuple(key), row)
                found += [
                    f"{name}: {key}: {column} is {value!r}, recomputed {mine[column]!r}"
                    for column, value in row.items()
                    if not alike(value, mine[column])
                ]
            if rows.overflowed != self.reference.overflowed[name]:
                found.append(f"{name}: other rows overflow")
        return found


def alike(a: Value, b: Value) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (a != a and b != b)
    return type(a) is type(b) and a == b and str(a) == str(b)


def answers(
    spark: SparkSession,
    text: str,
    records: Sequence[Record],
    cuts: Collection[int] = (),
    stretches: Sequence[Stretch] = (),
) -> Answers:
    """`cuts` and `stretches` say the same to the one and to the other, where there are several slots."""
    loaded = load_text(text)
    assert loaded.definition is not None, loaded.all_faults
    verdict = check(loaded)
    assert not verdict.errors
    assert len(verdict.admitted) == len(verdict.views), [view.refusals for view in verdict.views.values()]
    reference = evaluate(loaded.definition, verdict.admitted, records, cuts)
    session = session_of(spark)
    topics = ["journal"] * (1 + max((record.slot for record in records), default=0))
    tables = load(session, loaded.definition, listed_records(session, records), topics, stretches)
    try:
        clocks = tables.admission.clocks.values()
        least = None if None in clocks else min((c for c in clocks if c is not None), default=None)
        rows = {name: rows_of(view, tables, least) for name, view in verdict.admitted.items()}
    finally:
        tables.close()
    late = set().union(*(each.late for each in rows.values()))
    fates = {**tables.admission.fates, "late": len(late)}
    fates["applied"] = fates.get("applied", 0) - len(late)
    told = {fate: count for fate, count in fates.items() if count}
    return Answers(reference, rows, told, verdict.admitted, tables.admission.crossed)
