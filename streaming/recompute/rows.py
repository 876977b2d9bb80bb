"""The rows of a view, in batch: the algebra, its periods, one GROUP BY, and what is derived from each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from chronicle.types import Value
from streaming.recompute.aggregates import OverflowedError, Slack, finished, over_groups, with_keys
from streaming.recompute.algebra import AlgebraWriter
from streaming.recompute.periods import booking
from streaming.recompute.tables import Tables
from views.checked import CheckedView
from views.derive import DerivationOverflowError, deriver


class RowKey(NamedTuple):
    """What names a row of a view: its period (None where the view has none) and its group key, in column order."""

    start: int | None
    end: int | None
    key: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A row's values, keys and derived columns included; `slack` of those that the engine keeps as a sketch."""

    values: Mapping[str, Value]
    slack: Mapping[str, Slack] = field(default_factory=dict)


@dataclass(slots=True)
class Rows:
    """The rows that are not expired. `overflowed` exist and cannot be shown; `late` are the sequence numbers that the
    view refused."""

    rows: dict[RowKey, Recomputed] = field(default_factory=dict)
    overflowed: set[RowKey] = field(default_factory=set)
    late: set[int] = field(default_factory=set)


def rows_of(view: CheckedView, tables: Tables, clock: int | None, since: Mapping[int, int] | None = None) -> Rows:
    """`clock` is the least of the slots' (for expiry), None while some slot has none. `since` are, by slot, the offsets
    from which on the view was there."""
    chronicle = AlgebraWriter(tables.definition, _seen(since or {})).sql(view.summary.input)
    if view.period is None:
        return _summarised(view, tables, chronicle, clock)
    booked = booking(view.period, chronicle, tables)
    table = booked.table.persist(StorageLevel.MEMORY_AND_DISK)
    table.createOrReplaceTempView("booked")
    try:
        source = _in_periods(chronicle, booked.key)
        found = _summarised(view, tables, f"SELECT * FROM ({source}) WHERE `@start` IS NOT NULL", clock)
        found.late = _late(tables, source)
    finally:
        table.unpersist()
    return found


def _summarised(view: CheckedView, tables: Tables, source: str, clock: int | None) -> Rows:
    """One row a group (Definition 4.3), without those whose period is expired. The group of all tuples has a column of
    its own, so that without keys there is a row only once there is a tuple."""
    group = ["`@all`", *(f"`@k{at}`" for at in range(len(view.summary.keys)))]
    kept: list[str] = []
    if view.period is not None:
        group += ["`@start`", "`@end`"]
        kept.append("max_by(`@expires`, sn) AS `@expires`")
    keyed = with_keys(f"SELECT *, 0 AS `@all` FROM ({source})", view.summary.keys)
    found = Rows()
    for row in _collected(tables.session.sql(over_groups(keyed, group, kept, view.summary.aggregates))):
        expires = row.get("@expires")
        if clock is None or expires is None or clock < expires:
            _finish(view, row, found)
    return found


def _seen(since: Mapping[int, int]) -> str:
    if not any(since.values()):
        return "true"
    whens = " ".join(f"WHEN {slot} THEN {offset}L" for slot, offset in since.items())
    return f"shiftright(sn, 12) >= CASE sn & 4095 {whens} ELSE 0L END"


def _in_periods(chronicle: str, key: tuple[tuple[str, str], ...]) -> str:
    """The tuples, once for each period that they count in; `@start` is null where a tuple is late."""
    bound = ", ".join(("*", *(f"{sql} AS `{name}`" for name, sql in key)))
    same = " AND ".join(("t.sn = b.sn", *(f"t.`{name}` <=> b.`{name}`" for name, _ in key)))
    return (
        f"SELECT t.*, b.`@start`, b.`@end`, b.`@expires` FROM (SELECT {bound} FROM ({chronicle})) t "
        f"JOIN booked b ON {same}"
    )


def _late(tables: Tables, source: str) -> set[int]:
    late = tables.session.sql(f"SELECT DISTINCT sn FROM ({source}) WHERE `@start` IS NULL").toArrow()
    return set(late.column("sn").to_pylist())


def _collected(query: DataFrame) -> list[dict[str, Any]]:
    """With instants as microseconds, as everywhere outside of Spark."""
    table = query.toArrow()
    for at, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            table = table.set_column(at, column.name, table.column(at).cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _finish(view: CheckedView, row: Mapping[str, Any], found: Rows) -> None:
    keys = tuple(row[f"@k{at}"] for at in range(len(view.summary.keys)))
    row_key = RowKey(row.get("@start"), row.get("@end"), keys)
    values: dict[str, Value] = dict(zip((name for name, _ in view.summary.keys), keys, strict=True))
    slack: dict[str, Slack] = {}
    try:
        for at, aggregate in enumerate(view.summary.aggregates):
            values[aggregate.name], may_be = finished(aggregate, at, row)
            if may_be is not None:
                slack[aggregate.name] = may_be
        found.rows[row_key] = Recomputed(deriver(view)(values), slack)
    except (OverflowedError, DerivationOverflowError):
        found.overflowed.add(row_key)
