"""The period of a view (§5.1): its calendar is there, and a calendar for each key has its key in the view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from calendars import KeyedCalendar
from chronicle.definitions import Definition, PeriodDefinition
from chronicle.errors import did_you_mean, nearest
from chronicle.expressions import ColumnRef, Expression, Literal, columns_of
from views.algebra import Node, RelationJoin, Select, SnJoin, Summary
from views.checked import KeyedBy, PeriodRule
from views.parse.codes import Code
from views.parse.findings import Draft, Path, Repair, Report, Spot

if TYPE_CHECKING:
    from chronicle.definitions.consistency import Calendars


def period_rule(
    period: PeriodDefinition, summary: Summary, definition: Definition, calendars: Calendars, path: Path, report: Report
) -> PeriodRule | None:
    """None after a finding."""
    calendar = calendars.get(period.calendar)
    if calendar is None:
        _unknown(period.calendar, calendars, definition, (*path, "calendar"), report)
        return None
    if period.expire_after is not None and period.expire_after.average < period.grace.average:
        what = f"it expires after {period.expire_after}, and its grace lasts {period.grace}"
        grace = str(period.grace)
        report.add(Code.EXPIRES_IN_GRACE, what, Spot((*path, "expire_after")), _set("expire_after", grace))
        return None
    keyed = None
    if isinstance(calendar, KeyedCalendar):
        keyed = _keyed_by(period.calendar, calendar, summary, definition, (*path, "calendar"), report)
        if keyed is None:
            return None
    return PeriodRule(period.calendar, calendar, period.grace, period.expire_after, period.late, keyed)


def _unknown(name: str, calendars: Calendars, definition: Definition, path: Path, report: Report) -> None:
    if name in definition.calendars:  # it is there, and its own faults are told where it stands
        report.add(Code.UNKNOWN_CALENDAR, f"the calendar '{name}' has faults", Spot(path), _no_period)
        return
    near = nearest(name, calendars)
    what = f"there is no calendar '{name}'{did_you_mean(name, calendars)}"
    report.add(Code.UNKNOWN_CALENDAR, what, Spot(path), _set("calendar", near) if near is not None else _no_period)


def _no_period(draft: Draft) -> None:
    draft.period = None


def _set(key: str, value: str) -> Repair:
    def repair(draft: Draft) -> None:
        if draft.period is not None:
            draft.period[key] = value

    return repair


def _keyed_by(
    name: str, calendar: KeyedCalendar, summary: Summary, definition: Definition, path: Path, report: Report
) -> KeyedBy | None:
    references = [column for column in (calendar.anchor_column, calendar.zone_column) if column is not None]
    relations = {reference.partition(".")[0] for reference in references}
    if len(relations) != 1:
        what = f"calendar '{name}' takes its anchor from one relation and its zone from another"
        report.add(Code.ANCHOR_NOT_JOINED, what, Spot(path), _no_period)
        return None
    relation = relations.pop()
    join = next(
        (node for node in _reachable(summary.input) if node.relation == relation and node.access == "key"), None
    )
    if join is None:
        what = f"calendar '{name}' needs {' and '.join(references)}, and the view does not join '{relation}' on its key"
        report.add(Code.ANCHOR_NOT_JOINED, what, Spot(path), _join_on_key(relation, definition))
        return None
    missing = [key for key, value in join.key if not _is_grouped(summary, join, key, value)]
    if missing:
        what = f"calendar '{name}' has one calendar for each {relation}.{missing[0]}, and the view does not group by it"
        values = [value for key, value in join.key if key in missing]
        report.add(Code.NOT_GROUPED_BY_KEY, what, Spot(path), _group_by(values))
        return None
    columns = [
        column.partition(".")[2] if column else None for column in (calendar.anchor_column, calendar.zone_column)
    ]
    return KeyedBy(relation, join.key, columns[0], columns[1])


def _reachable(node: Node) -> Iterator[RelationJoin]:
    """The joins whose columns are still there, under their names, where the view is summarised."""
    match node:
        case RelationJoin():
            yield node
            yield from _reachable(node.input)
        case Select():
            yield from _reachable(node.input)
        case SnJoin():
            yield from _reachable(node.left)
            yield from _reachable(node.right)
        case _:
            return


def _is_grouped(summary: Summary, join: RelationJoin, key: str, value: Expression) -> bool:
    if isinstance(value, Literal) or not columns_of(value):
        return True
    same = {f"{join.alias}.{key}"}
    return any(e == value or (isinstance(e, ColumnRef) and e.name in same) for _, e in summary.keys)


def _join_on_key(relation: str, definition: Definition) -> Repair:
    def repair(draft: Draft) -> None:
        query = draft.query
        if not isinstance(query, exp.Select) or query.args.get("from_") is None:
            return
        source = query.args["from_"].this
        chronicle = definition.chronicles.get(source.name)
        group = query.args.get("group")
        grouped = [key.name for key in group.expressions] if group is not None else []
        conditions: list[exp.Expr] = []
        for key in definition.relations[relation].key:
            type_ = definition.relations[relation].columns[key].type
            names = [c.name for c in chronicle.columns.columns if c.type == type_] if chronicle is not None else []
            own = next((name for name in grouped if name in names), names[0] if names else None)
            if own is None:
                return
            left = exp.column(own, source.alias_or_name)
            conditions.append(exp.EQ(this=left, expression=exp.column(key, relation)))
            if own not in grouped:
                _add_key(query, exp.column(own, source.alias_or_name))
        query.append("joins", exp.Join(this=exp.to_table(relation), on=exp.and_(*conditions)))

    return repair


def _group_by(values: list[Expression]) -> Repair:
    def repair(draft: Draft) -> None:
        for value in values:
            if isinstance(value, ColumnRef) and isinstance(draft.query, exp.Select):
                qualifier, _, name = value.name.rpartition(".")
                _add_key(draft.query, exp.column(name, qualifier or None))

    return repair


def _add_key(query: exp.Select, column: exp.Column) -> None:
    query.set("expressions", [column, *query.expressions])
    group = query.args.get("group")
    if group is not None:
        group.set("expressions", [column.copy(), *group.expressions])
    elif query.args.get("distinct") is None:
        query.set("group", exp.Group(expressions=[column.copy()]))
