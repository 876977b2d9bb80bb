"""What a view's map does beside SQL: the few places where a query has to stop and let Python fetch or finish something.

A program is SQL text over tables by name. Base chronicles are tables of the epoch; the steps make the other tables, in
order, each from what is there already. Two views with the same step share its result within an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from chronicle.types import DataType
from views.algebra import Aggregate

SN, CHRONON, POS, START = "sn", "chronon", "pos", "@start"
"""The implicit columns as the map names them. START is that of the tuple's period or pane, null where it has none."""

VIEW = "@view"
"""Where several views are mapped together: the place of the tuple's view among them."""

END = "@end"
"""Of a keyed calendar, beside START: each key has its own period, so that a row carries its end."""

VALID_FROM, VALID_TO, RANK = "@from", "@to", "@rank"
"""Columns of a version table: in force in [from, to); the rank is that of the row's key in the relation."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Lookup:
    """The versions of the keys that the epoch's tuples ask for, one seek each: O(log |R|) a tuple.

    `keys_sql` selects the distinct keys; `unmatched_sql` counts the tuples without a version in force by the place of
    their view, and is run only where there may be some: a key can be null, or has a time without a version (None for an
    outer join, which keeps them).
    """

    table: str
    relation: str
    keys_sql: str
    key: tuple[str, ...]
    key_types: tuple[DataType, ...]
    nullable: bool
    unmatched_sql: str | None


@dataclass(frozen=True, slots=True)
class Scan:
    """All versions of a relation, for a join otherwise than on its key: O(|R|) an epoch."""

    table: str
    relation: str


@dataclass(frozen=True, slots=True)
class Finish:
    """A GROUP BY sn whose aggregates SQL cannot finish exactly (avg, deviations, sketches): their monoids do.

    `sql` gives the implicit columns and the keys as they are, and each aggregate's partial as `name.part`.
    """

    table: str
    sql: str
    kept: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


Step = Lookup | Scan | Finish
