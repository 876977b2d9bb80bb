"""Periods of a view (§5.1): which periods an append counts in, or that it is late for one.

A calendar that all keys share becomes a small table of its periods, near the chronons that occur, joined by range;
overlapping periods are joined directly, with no panes between. A keyed calendar is worked out key by key in Spark's
workers, from the versions that the append knew. `booking` gives a table with one row for each period that an append
(of a key) counts in: sn, the key's columns, `@start`, `@end`, `@expires`; `@start` is null where the append is late.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from calendars import Calendar, CalendarError, Duration, KeyedCalendar, Version
from chronicle.expressions import to_spark
from streaming.recompute.tables import Tables, changes_table
from views.checked import KeyedBy, PeriodRule

_PERIODS = pa.schema([(name, pa.int64()) for name in ("bucket", "start", "end", "closes", "expires")])
_BOOKED = "sn BIGINT, `@start` BIGINT, `@end` BIGINT, `@expires` BIGINT"
_STEPS_A_BUCKET = 8


@dataclass(frozen=True, slots=True)
class Booking:
    """`key` are the columns by which a row of `table` belongs to a tuple, with the tuple's expression for each."""

    table: DataFrame
    key: tuple[tuple[str, str], ...] = ()


def booking(rule: PeriodRule, chronicle: str, tables: Tables) -> Booking:
    """`chronicle` is the SQL of the chronicle that the view summarises."""
    if isinstance(rule.calendar, KeyedCalendar):
        assert rule.keyed_by is not None  # the checker gives every keyed calendar its relation
        return _booked_by_key(rule, rule.calendar, rule.keyed_by, chronicle, tables)
    return Booking(_booked(rule, rule.calendar, tables))


def _booked(rule: PeriodRule, calendar: Calendar, tables: Tables) -> DataFrame:
    session = tables.session
    bucket = max(_STEPS_A_BUCKET * calendar.typical, 1)

    def within(instant: str, period: str) -> str:
        return (
            f"{period}.bucket = {_bucket(instant, bucket)} AND {period}.start <= {instant} AND {instant} < {period}.end"
        )

    asked = session.sql(f"SELECT DISTINCT {_bucket('`@at`', bucket)} FROM appends")
    periods = _periods(rule, calendar, bucket, [number for (number,) in asked.collect()])
    table = session.createDataFrame(periods)
    columns = "`@start`, `@end`, `@expires`"
    found = (
        "SELECT a.sn, a.`@clock`, p.start AS `@start`, p.end AS `@end`, p.expires AS `@expires`, "
        "coalesce(max(a.`@clock` >= p.closes) OVER (PARTITION BY a.sn), false) AS `@late` "
        f"FROM appends a JOIN {{periods}} p ON {within('a.`@at`', 'p')}"
    )
    in_time = f"SELECT sn, {columns} FROM ({found}) WHERE NOT `@late`"
    late = f"SELECT DISTINCT sn, `@clock` FROM ({found}) WHERE `@late`"
    if rule.late == "reject":
        refused = f"SELECT sn, {', '.join(['CAST(NULL AS BIGINT)'] * 3)} FROM ({late})"
        return session.sql(f"{in_time} UNION ALL {refused}", periods=table)
    running = f"SELECT l.sn, p.start, p.end, p.expires FROM ({late}) l LEFT JOIN {{periods}} p ON " + within(
        "l.`@clock`", "p"
    )
    return session.sql(f"{in_time} UNION ALL {running}", periods=table)


def _bucket(instant: str, width: int) -> str:
    return f"(({instant} - pmod({instant}, {width}L)) div {width}L)"


def _periods(rule: PeriodRule, calendar: Calendar, bucket: int, numbers: list[int]) -> Any:
    rows = []
    for number in numbers:
        for _, (start, end) in calendar.extents_between(number * bucket, (number + 1) * bucket):
            expires = None if rule.expire_after is None else calendar.add(end, rule.expire_after)
            rows.append((number, start, end, calendar.add(end, rule.grace), expires))
    columns = list(zip(*rows, strict=True)) or [()] * len(_PERIODS)
    return pa.table([pa.array(column, pa.int64()) for column in columns], schema=_PERIODS)


def _booked_by_key(rule: PeriodRule, calendar: KeyedCalendar, by: KeyedBy, chronicle: str, tables: Tables) -> Booking:
    session, relation = tables.session, tables.definition.relations[by.relation]
    bound = {name: to_spark(expression) for name, expression in by.key}
    key = tuple((f"@by{at}", bound[name]) for at, name in enumerate(relation.key))
    values = ", ".join(f"{sql} AS `{name}`" for name, sql in key)
    names = ", ".join(f"`{name}`" for name, _ in key)
    asked = session.sql(
        f"SELECT t.*, a.`@at`, a.`@place`, a.`@clock` FROM (SELECT DISTINCT sn, {values} FROM ({chronicle})) t "
        "JOIN appends a ON a.sn = t.sn"
    )
    own = ", ".join(f"`{column}` AS `{name}`" for column, (name, _) in zip(relation.key, key, strict=True))
    anchor = "NULL" if by.anchor is None else _anchor(by.anchor, str(relation.columns[by.anchor].type))
    zone = "CAST(NULL AS STRING)" if by.zone is None else f"`{by.zone}`"
    stated = session.sql(
        f"SELECT {own}, `@place`, `@nth`, `@from`, `@deleted`, {anchor} AS `@anchor`, {zone} AS `@zone` "
        f"FROM {changes_table(by.relation)}"
    )
    types = {name: kind for name, kind in asked.dtypes if name.startswith("@by")}
    schema = ", ".join((_BOOKED, *(f"`{name}` {types[name]}" for name, _ in key)))
    book = _book_of_key(calendar, rule.grace, rule.expire_after, rule.late == "next", relation.retroactive == "correct")
    columns = [f"`{name}`" for name, _ in key]
    together = asked.groupBy(*columns).cogroup(stated.groupBy(*columns))
    table = together.applyInArrow(_typed(book, [name for name, _ in key]), schema)
    return Booking(table.selectExpr(names, "sn", "`@start`", "`@end`", "`@expires`"), key)


def _anchor(column: str, type_: str) -> str:
    return f"unix_micros(`{column}`)" if type_ == "timestamp" else f"`{column}`"


Rows = list[dict[str, Any]]


def _typed(book: Callable[[Rows, Rows], Rows], key: list[str]) -> Callable[[Any, Any], Any]:
    """`book` over the Arrow tables that Spark hands to it: the appends of one key, and the changes of that key."""

    def work(asked: Any, stated: Any) -> Any:
        found = book(asked.to_pylist(), stated.to_pylist())
        fields = [pa.field(name, pa.int64()) for name in ("sn", "@start", "@end", "@expires")]
        schema = pa.schema([*fields, *(asked.schema.field(name) for name in key)])
        rows = [{**row, **{name: asked.column(name)[0].as_py() for name in key}} for row in found]
        return pa.Table.from_pylist(rows, schema=schema)

    return work


def _book_of_key(
    calendar: KeyedCalendar, grace: Duration, expire_after: Duration | None, book_next: bool, corrects: bool
) -> Callable[[Rows, Rows], Rows]:
    def book(asked: Rows, stated: Rows) -> Rows:
        changes = sorted(stated, key=lambda change: (change["@place"], change["@nth"]))
        places = [change["@place"] for change in changes]
        calendars: dict[int, Calendar | None] = {}
        booked: Rows = []
        for append in asked:
            known = len(changes) if corrects else bisect_right(places, append["@place"])
            if known not in calendars:
                calendars[known] = _calendar(calendar, changes[:known])
            if (own := calendars[known]) is not None:
                booked += _of_append(own, append, grace, expire_after, book_next)
        return booked

    return book


def _calendar(calendar: KeyedCalendar, changes: Rows) -> Calendar | None:
    """From the versions: one for each `@from`, the later change winning."""
    latest = {change["@from"]: change for change in changes}
    if not latest:
        return None
    return calendar.at(tuple(_version(calendar, latest[since]) for since in sorted(latest)))


def _version(calendar: KeyedCalendar, change: dict[str, Any]) -> Version:
    """A deleted row, and one whose anchor or zone is none, is a time without periods."""
    nothing: Version = (change["@from"], None, None)
    if change["@deleted"]:
        return nothing
    stated = cast("Version", (change["@from"], change["@anchor"], change["@zone"]))
    try:
        calendar.at((stated,))
    except CalendarError:
        return nothing
    return stated


def _of_append(
    calendar: Calendar, append: dict[str, Any], grace: Duration, expire_after: Duration | None, book_next: bool
) -> Iterator[dict[str, Any]]:
    clock = append["@clock"]
    periods = calendar.periods_at(append["@at"])
    if clock is not None and any(clock >= calendar.add(period.end, grace) for period in periods):
        periods = calendar.periods_at(clock) if book_next else ()
        if not periods:
            yield {"sn": append["sn"]}
    for period in periods:
        expires = None if expire_after is None else calendar.add(period.end, expire_after)
        yield {"sn": append["sn"], "@start": period.start, "@end": period.end, "@expires": expires}
