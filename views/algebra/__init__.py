"""The summarised chronicle algebra (chronicle-data-model §4): one small frozen class per operator.

Every operator of the chronicle algebra keeps three implicit columns, which no schema lists: `sn` (the append's
sequence number), `chronon` (its instant; one per append) and `pos` (a tuple of ints that orders the tuples of one
append). Expressions may name `sn` and `chronon`. The two summarisations drop them (Definition 4.3).
"""

from views.algebra.chronicles import (
    Aggregate,
    Chronicle,
    Difference,
    GroupBySn,
    Node,
    Project,
    RelationJoin,
    Select,
    SnJoin,
    Union,
)
from views.algebra.summaries import Distinct, GroupBy, Summary

__all__ = [
    "Aggregate",
    "Chronicle",
    "Difference",
    "Distinct",
    "GroupBy",
    "GroupBySn",
    "Node",
    "Project",
    "RelationJoin",
    "Select",
    "SnJoin",
    "Summary",
    "Union",
]
