"""From records to the rows of every view and the ledger: the definitions of the other modules, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from calendars import Calendar, Period, PeriodState
from chronicle.definitions import Definition
from chronicle.expressions import evaluator
from chronicle.sequence import slot_of
from chronicle.types import Value
from views.checked import CheckedView
from views.derive import deriver
from views.reference.admission import Database, Record, Refused, admit
from views.reference.aggregates import OverflowedError, aggregated
from views.reference.algebra import Interpreter, Tuple, Tuples, same
from views.reference.periods import Late, book
from views.reference.versions import Row


class RowKey(NamedTuple):
    """What names a row of a view: its period (None where the view has none) and its group key, in column order."""

    start: int | None
    end: int | None
    key: tuple[Value, ...]


@dataclass(slots=True)
class Outcome:
    """What the chronicle amounts to. `fates` count per slot; `refused_by` names the views for which an append is late;
    `states` has every period that a row was ever in, expired ones too, whose rows are gone; `overflowed` are rows that
    exist and cannot be shown; `unmatched` counts the tuples that found no version in an inner join."""

    clocks: dict[int, int | None]
    rows: dict[str, dict[RowKey, Row]] = field(default_factory=dict)
    overflowed: dict[str, set[RowKey]] = field(default_factory=dict)
    states: dict[str, dict[RowKey, PeriodState]] = field(default_factory=dict)
    fates: dict[int, Counter[str]] = field(default_factory=dict)
    fate_of: list[tuple[int, str]] = field(default_factory=list)
    refusals: list[Refused] = field(default_factory=list)
    refused_by: dict[int, list[str]] = field(default_factory=dict)
    unmatched: dict[str, int] = field(default_factory=dict)

    @property
    def clock(self) -> int | None:
        """The group's clock: the largest of its slots'."""
        return max((clock for clock in self.clocks.values() if clock is not None), default=None)


@dataclass(slots=True)
class _Group:
    """The tuples that one row summarises, and the period and calendar that it is of."""

    period: Period | None
    calendar: Calendar | None
    members: Tuples = field(default_factory=list)


def evaluate(
    definition: Definition,
    views: Mapping[str, CheckedView],
    records: Iterable[Record],
    epochs: Collection[int] = (),
) -> Outcome:
    """The rows of every view and the fate of every record; `epochs` as in `admit`, for groups of several slots."""
    database = admit(definition, (Record(*record) for record in records), epochs)
    outcome = Outcome(database.clocks)
    for view in views.values():
        _materialise(view, database, outcome)
    _settle_fates(database, outcome)
    return outcome


def _materialise(view: CheckedView, database: Database, outcome: Outcome) -> None:
    interpreter = Interpreter(database)
    chronicle = interpreter.chronicle(view.summary.input)
    outcome.unmatched[view.name] = interpreter.unmatched
    rows: dict[RowKey, Row] = {}
    states: dict[RowKey, PeriodState] = {}
    overflowed: set[RowKey] = set()
    for row_key, group in _groups(view, chronicle, database, outcome).items():
        if view.period is not None:
            states[row_key] = _state(view, group, database)
            if states[row_key] is PeriodState.EXPIRED:
                continue
        try:
            rows[row_key] = _row(view, row_key, group.members)
        except OverflowedError:
            overflowed.add(row_key)
    outcome.rows[view.name], outcome.states[view.name], outcome.overflowed[view.name] = rows, states, overflowed


def _groups(view: CheckedView, chronicle: Tuples, database: Database, outcome: Outcome) -> dict[RowKey, _Group]:
    """The summarisation's groups (Definition 4.3), one set of them for each period."""
    keys = [evaluator(expression) for _, expression in view.summary.keys]
    groups: dict[RowKey, _Group] = {}
    for each in chronicle:
        key = tuple(same(value(each.environment)) for value in keys)
        if view.period is None:
            groups.setdefault(RowKey(None, None, key), _Group(None, None)).members.append(each)
            continue
        match book(each, view.period, database):
            case Late():
                _refuse_late(view, each, outcome)
            case booked:
                for period in booked.periods:
                    row_key = RowKey(period.start, period.end, key)
                    group = groups.setdefault(row_key, _Group(period, booked.calendar))
                    group.calendar = booked.calendar
                    group.members.append(each)
    return groups


def _refuse_late(view: CheckedView, each: Tuple, outcome: Outcome) -> None:
    refusing = outcome.refused_by.setdefault(each.sn, [])
    if view.name not in refusing:
        refusing.append(view.name)


def _row(view: CheckedView, row_key: RowKey, members: Tuples) -> Row:
    names = [name for name, _ in view.summary.keys]
    summarised = {a.name: aggregated(a, members) for a in view.summary.aggregates}
    return deriver(view)({**dict(zip(names, row_key.key, strict=True)), **summarised})


def _state(view: CheckedView, group: _Group, database: Database) -> PeriodState:
    """By the least of the slots' clocks: a period is as far as every slot has come."""
    assert view.period is not None
    assert group.period is not None
    assert group.calendar is not None
    clocks = list(database.clocks.values())
    if None in clocks:
        return PeriodState.OPEN
    least = min(clock for clock in clocks if clock is not None)
    return group.calendar.state(group.period, least, view.period.grace, view.period.expire_after)


def _settle_fates(database: Database, outcome: Outcome) -> None:
    """Every record has one fate; an admitted one is late if some view refused it, otherwise applied."""
    outcome.refusals = list(database.refused)
    fates = [(refused.sn, refused.fate) for refused in database.refused]
    fates += [(append.sn, "late" if append.sn in outcome.refused_by else "applied") for append in database.appends]
    outcome.fate_of = sorted(fates)
    for sn, fate in fates:
        outcome.fates.setdefault(slot_of(sn), Counter())[fate] += 1
