"""The calendar of one key, where anchor and zone are columns of a relation: read from the relation's versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from calendars import KeyedCalendar, Version
from chronicle.expressions import ColumnRef, Expression, evaluator
from chronicle.types import DataType, Kind, Value
from views.checked import CheckedView, KeyedBy, PeriodRule
from views.lookup.periods import Spans
from views.state import RelationLayout, State, key_encoder, shard_of

_EPOCH = date(1970, 1, 1)
_KEPT = 10_000

Fields = tuple[Any, ...]


class KeyedSpans:
    """The spans of any key of a view; keys whose versions say the same share them."""

    def __init__(self, view: CheckedView, rule: PeriodRule, keyed_by: KeyedBy, relation: RelationLayout) -> None:
        assert isinstance(rule.calendar, KeyedCalendar)  # KeyedBy is there for these alone
        self._relation = relation.name
        self._of_key = [_of_key(view, column, value) for column, value in keyed_by.key]
        self._encode = key_encoder(relation.key_types)
        self._reader = _VersionReader(relation, keyed_by.anchor, keyed_by.zone)
        calendar = rule.calendar
        self._spans = lru_cache(_KEPT)(lambda versions: Spans(rule, calendar.at(versions)))

    def of(self, state: State, key: Mapping[str, Value]) -> Spans | None:
        """None for a key that the relation has never had."""
        encoded = self._encode([part(key) for part in self._of_key])
        with state.shard(shard_of(encoded, state.shards)).read() as snapshot:
            stored = snapshot.history(self._relation, encoded)
        return self._spans(tuple(self._reader.read(since, value) for since, value in stored)) if stored else None


def _of_key(view: CheckedView, column: str, value: Expression) -> Callable[[Mapping[str, Value]], Value]:
    """How a column of the relation's key follows from the group key; the checker has made sure that it does."""
    for name, expression in view.summary.keys:
        joined = isinstance(expression, ColumnRef) and expression.name.endswith(f".{column}")
        if expression == value or joined:
            return lambda key: key[name]
    constant = evaluator(value)({})
    return lambda key: constant


class _VersionReader:
    """Reads (valid from, anchor, zone) out of a stored version; a deleted row has neither."""

    def __init__(self, relation: RelationLayout, anchor: str | None, zone: str | None) -> None:
        order = relation.row.read_order
        types = {column.name: column.type for column in relation.columns}
        self._read = relation.row.reader()
        self._deleted = order.index("@deleted")
        self._anchor = _column(order, types, anchor)
        self._zone = _column(order, types, zone)

    def read(self, since: int, stored: bytes) -> Version:
        fields = self._read(stored)
        if fields[self._deleted]:
            return since, None, None
        return since, self._anchor(fields), self._zone(fields)


def _column(
    order: tuple[str, ...], types: Mapping[str, DataType], name: str | None
) -> Callable[[tuple[Any, ...]], Any]:
    if name is None:
        return lambda fields: None
    place, null = order.index(name), order.index(f"{name}?")
    match types[name].kind:
        case Kind.STRING:
            return lambda fields: None if fields[null] else fields[place].decode()
        case Kind.DATE:
            return lambda fields: None if fields[null] else _EPOCH + timedelta(days=fields[place])
        case _:
            return lambda fields: None if fields[null] else fields[place]
