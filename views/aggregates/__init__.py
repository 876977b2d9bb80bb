"""Aggregates as monoids: prepare, merge, finalise (design: "State"). One file per family.

`views.aggregates.monoid` says what the engine may rely on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from views.aggregates.signatures import AGGREGATES, PARAMETERS, aggregate_type

if TYPE_CHECKING:
    from views.aggregates.monoid import Monoid
    from views.algebra import Aggregate

__all__ = ["AGGREGATES", "PARAMETERS", "aggregate_type", "monoid_of"]


def monoid_of(aggregate: Aggregate) -> Monoid:
    """The monoid of an aggregate of a checked view."""
    from views.aggregates import registry  # numpy and the sketches: the checker needs types only, and must start fast

    return registry.monoid_of(aggregate)
