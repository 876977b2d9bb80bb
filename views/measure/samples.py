"""Appends and relation changes made up from a view's schemas, such that the view has work with them.

Columns by which a relation is joined take its keys, and columns that a condition compares with constants take these
half of the time: `where: kind <> 'internal' and customers.state = 'NJ'` meets tuples of both kinds. The same seed gives
the same samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import assert_never

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from calendars import format_instant, parse_instant
from chronicle.appends import Group
from chronicle.expressions import Comparison, Expression, In, Like, Literal, columns_of
from chronicle.expressions.nodes import children
from chronicle.journal import HEADERS_TYPE, SCHEMA
from chronicle.types import Column, DataType, Kind, Value
from views.algebra import Aggregate, Chronicle, GroupBySn, Node, Project, RelationJoin, Select
from views.algebra.traversal import nodes
from views.checked import CheckedView

SUBJECTS = 1_000
"""Distinct values of a column, and rows of a relation that are joined: a view has as many rows after few appends."""

START = parse_instant("2026-01-01T00:00:00Z")
STEP = 1_000_000
"""From the chronon of an append to that of the next."""

_SINCE = parse_instant("2020-01-01T00:00:00Z")
_ZONES = ("America/New_York", "Europe/Berlin", "Asia/Kolkata")

Json = str | int | float | bool
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Samples:
    """What one view is measured with. `constants` are those that its conditions compare a column with, `joined` the
    columns that find a row of a relation."""

    group: Group
    view: CheckedView
    chronicles: tuple[str, ...]
    constants: Mapping[str, tuple[Literal, ...]]
    joined: frozenset[str]

    @classmethod
    def of(cls, group: Group, view: CheckedView) -> Samples:
        found = list(nodes(view.summary.input))
        constants: dict[str, dict[Literal, None]] = {}
        for expression in _expressions(view, found):
            for column, literals in _compared(expression):
                constants.setdefault(column, {}).update(dict.fromkeys(literals))
        joined = {
            _bare(name)
            for node in found
            if isinstance(node, RelationJoin)
            for _, bound in node.key
            for name in columns_of(bound)
        }
        chronicles = dict.fromkeys(node.name for node in found if isinstance(node, Chronicle))
        return cls(
            group, view, tuple(chronicles), {name: tuple(many) for name, many in constants.items()}, frozenset(joined)
        )

    def changes(self, relation: str, count: int) -> list[bytes]:
        """`count` rows of a relation, each of its own key where the key's type has so many values."""
        columns, chance = self.group.relations[relation], np.random.default_rng(count)
        numbers = np.arange(count)
        cells = {
            column.name: _texts(column.type, numbers)
            if column.name in columns.key
            else self._calendar(relation, column, numbers) or self._cells(column, numbers, chance)
            for column in columns.schema.columns
        }
        cells["_from"] = [format_instant(_SINCE)] * count
        return [orjson.dumps(row) for row in _rows(cells)]

    def appends(self, first: int, count: int, versions: int) -> list[bytes]:
        """Appends number `first` and on, one tuple of each chronicle of the view; they join rows that lie evenly among
        the `versions` of its relations."""
        chance = np.random.default_rng(first)
        subject = chance.integers(0, SUBJECTS, count) * max(1, versions // SUBJECTS) % max(1, versions)
        instants: list[Json] = [format_instant(instant) for instant in chronons(first, count).tolist()]
        tuples = {name: list(_rows(self._tuple(name, subject, instants, chance))) for name in self.chronicles}
        if len(tuples) == 1 and len(self.group.chronicles) == 1:
            return [orjson.dumps(row) for rows in tuples.values() for row in rows]
        return [
            orjson.dumps({name: [row] for name, row in zip(tuples, together, strict=True)})
            for together in zip(*tuples.values(), strict=True)
        ]

    def _tuple(
        self, chronicle: str, subject: Indices, instants: list[Json], chance: np.random.Generator
    ) -> dict[str, list[Json]]:
        columns = self.group.chronicles[chronicle]
        cells = {}
        for column in columns.schema.columns:
            if column.name == columns.chronon:
                cells[column.name] = instants
            elif column.name in self.joined:
                cells[column.name] = _texts(column.type, subject)
            else:
                cells[column.name] = self._cells(column, chance.integers(0, SUBJECTS, len(subject)), chance)
        return cells

    def _cells(self, column: Column, numbers: Indices, chance: np.random.Generator) -> list[Json]:
        texts = _texts(column.type, numbers)
        fitting = [_json(literal.value, column.type) for literal in self.constants.get(column.name, ())]
        if constants := [each for each in fitting if each is not None]:
            picked = chance.integers(0, len(constants), len(numbers)).tolist()
            for place in np.flatnonzero(chance.random(len(numbers)) < 0.5).tolist():
                texts[place] = constants[picked[place]]
        return texts

    def _calendar(self, relation: str, column: Column, numbers: Indices) -> list[Json] | None:
        """Values for the columns of a relation that say each key's own calendar."""
        keyed = None if self.view.period is None else self.view.period.keyed_by
        if keyed is None or keyed.relation != relation or column.type.kind is not Kind.STRING:
            return None
        if column.name == keyed.zone:
            return [_ZONES[number % len(_ZONES)] for number in numbers.tolist()]
        return ["2025-01-31T00:00:00"] * len(numbers) if column.name == keyed.anchor else None


def chronons(first: int, count: int) -> Indices:
    return START + np.arange(first, first + count) * STEP


def messages(bodies: Sequence[bytes], offset: int, taken_at: Indices, header: str | None = None) -> pa.Table:
    """Bodies as the journal hands them to the map, from an offset on; `header` names the chronicle or relation."""
    pairs = [[]] if header is None else [[{"key": "chronicle", "value": header.encode()}]]
    same = pa.array(np.zeros(len(bodies), np.int32))
    columns = [
        pa.array(np.arange(offset, offset + len(bodies))),
        pa.array(taken_at),
        pa.nulls(len(bodies), pa.binary()),
        pa.DictionaryArray.from_arrays(same, pa.array(pairs, HEADERS_TYPE)),
        pa.array(bodies, pa.binary()),
    ]
    return pa.table(columns, schema=SCHEMA)


def _rows(cells: Mapping[str, Sequence[Json]]) -> Iterator[dict[str, Json]]:
    for values in zip(*cells.values(), strict=True):
        yield dict(zip(cells, values, strict=True))


def _texts(type_: DataType, numbers: Indices) -> list[Json]:
    """The n-th value of a type for each n, as messages have it."""
    distinct, places = np.unique(numbers, return_inverse=True)
    values = [_nth(type_, number) for number in distinct.tolist()]
    return [values[place] for place in places.tolist()]


def _nth(type_: DataType, n: int) -> Json:
    match type_.kind:
        case Kind.STRING:
            return f"k{n:07}"
        case Kind.INT64:
            return n
        case Kind.DOUBLE:
            return n / 4
        case Kind.BOOL:
            return n % 2 == 0
        case Kind.TIMESTAMP:
            return format_instant(_SINCE + n * STEP)
        case Kind.DATE:
            return (date(1970, 1, 1) + timedelta(days=n)).isoformat()
        case Kind.DECIMAL:
            return str(Decimal(n % 10**type_.precision).scaleb(-type_.scale))
    assert_never(type_.kind)


def _json(value: Value, type_: DataType) -> Json | None:
    """A constant as a value of a column; None where it is not one."""
    match type_.kind, value:
        case (Kind.STRING, str()):
            return value
        case (Kind.BOOL, bool()):
            return value
        case (Kind.TIMESTAMP, int()):
            return format_instant(value)
        case (Kind.DATE, date()):
            return value.isoformat()
        case (Kind.INT64, int() | Decimal()) if value == int(value) and not isinstance(value, bool):
            return int(value)
        case (Kind.DOUBLE, int() | float() | Decimal()):
            return float(value)
        case (Kind.DECIMAL, int() | Decimal()):
            exact = Decimal(value)
            fits = exact == round(exact, type_.scale) and abs(exact) < 10 ** (type_.precision - type_.scale)
            return str(round(exact, type_.scale)) if fits else None
    return None


def _expressions(view: CheckedView, found: Iterable[Node]) -> Iterator[Expression]:
    """Every expression that decides which tuples count, and for what."""
    yield from (expression for _, expression in view.summary.keys)
    yield from _of_aggregates(view.summary.aggregates)
    for node in found:
        match node:
            case Select():
                yield node.predicate
            case Project():
                yield from (expression for _, expression in node.columns)
            case GroupBySn():
                yield from (expression for _, expression in node.keys)
                yield from _of_aggregates(node.aggregates)
            case RelationJoin() if node.residual is not None:
                yield node.residual
            case _:
                continue


def _of_aggregates(aggregates: Iterable[Aggregate]) -> Iterator[Expression]:
    for aggregate in aggregates:
        yield from aggregate.arguments
        if aggregate.filter is not None:
            yield aggregate.filter


def _compared(expression: Expression) -> Iterator[tuple[str, list[Literal]]]:
    """The columns of each comparison with the constants in it."""
    match expression:
        case Comparison():
            literals = list(_literals(expression))
        case In():
            literals = [*expression.items, *_literals(expression.operand)]
        case Like():
            literals = [Literal(expression.pattern, expression.operand.type)]
        case _:
            literals = []
    if literals:
        yield from ((_bare(name), literals) for name in columns_of(expression))
    for part in children(expression):
        yield from _compared(part)


def _literals(expression: Expression) -> Iterator[Literal]:
    if isinstance(expression, Literal):
        yield expression
    for part in children(expression):
        yield from _literals(part)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]
