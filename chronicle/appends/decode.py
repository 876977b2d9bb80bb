"""One message to one append (chronicle-data-model §2.1), or the reason why it is malformed.

This is the exact and slow way: what it says is what an append means. A bulk decoder must give the same answer for the
messages that it takes, and hand the others over to this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from chronicle.appends.body import Body, Malformed, parse_body
from chronicle.appends.group import ChronicleColumns, Group, RelationColumns, group_of
from chronicle.appends.values import Parser, WrongValueError, parse_timestamp, parser_of, show
from chronicle.definitions import Definition
from chronicle.errors import did_you_mean
from chronicle.types import Column, Value

Row = dict[str, Value]
Op = Literal["upsert", "delete"]
Headers = Sequence[tuple[str, bytes | None]]

CHRONICLE_FIELD = "_chronicle"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a relation; the row of a delete has the key columns only."""

    relation: str
    op: Op
    valid_from: int
    row: Row


@dataclass(frozen=True, slots=True)
class Append:
    """What one message appends, all under one sequence number; relation changes alone have no chronon."""

    chronon: int | None
    tuples: Mapping[str, Sequence[Row]]
    changes: Sequence[Change]


def decode(value: bytes | None, headers: Headers, timestamp: int, definition: Definition) -> Append:
    """The append that a message is, raising `Malformed`; `timestamp` is when the journal or the broker took it."""
    return decoder_of(definition).decode(value, headers, timestamp)


def decoder_of(definition: Definition) -> Decoder:
    """The decoder of a definition; the last one is kept, for callers that decode message by message."""
    global _last
    if _last is None or _last[0] is not definition:
        _last = (definition, Decoder(group_of(definition)))
    return _last[1]


_last: tuple[Definition, Decoder] | None = None


class Decoder:
    def __init__(self, group: Group) -> None:
        self._chronicles = {name: _TupleReader(columns) for name, columns in group.chronicles.items()}
        self._relations = {name: ChangeReader(name, columns) for name, columns in group.relations.items()}
        self._only = next(iter(group.chronicles)) if len(group.chronicles) == 1 else None
        self._specversion_is_a_column = any("specversion" in each.schema for each in group.chronicles.values())

    def decode(self, value: bytes | None, headers: Headers, timestamp: int) -> Append:
        body = parse_body(value)
        named = _named(tuple(headers))
        event_type = named.event_type
        if "specversion" in body and self._is_cloud_event(body, named):
            event_type, body = body["type"], _event_data(body)
        if _is_envelope(body):
            return self._envelope(body, timestamp)
        name = self._name(body, named.chronicle, event_type)
        if (reader := self._chronicles.get(name)) is not None:
            row, chronon = reader.read(body, "")
            return Append(timestamp if chronon is None else chronon, {name: [row]}, ())
        return self._assemble({name: [body]}, timestamp, single=True)

    def _is_cloud_event(self, body: Body, named: _Named) -> bool:
        if not (isinstance(body["specversion"], str) and isinstance(body.get("type"), str)):
            return False
        return named.is_event or ("data" in body and not self._specversion_is_a_column)

    def _name(self, body: Body, header: str | None, event_type: str | None) -> str:
        """The chronicle (or relation) that a single tuple is of: by header, event type, field, or the only one."""
        field = body.get(CHRONICLE_FIELD)
        if CHRONICLE_FIELD in body and not isinstance(field, str):
            raise Malformed(f"{CHRONICLE_FIELD}: {show(field)} is not the name of a chronicle")
        if field is not None and header is not None and field != header:
            raise Malformed(f"the header names the chronicle '{header}', the field {CHRONICLE_FIELD} '{field}'")
        name = header or event_type or field or self._only
        if name is None:
            raise Malformed(f"the message names no chronicle, and the group has {', '.join(self._chronicles)}")
        return name

    def _envelope(self, body: Body, timestamp: int) -> Append:
        for name, items in body.items():
            for at, item in enumerate(items):
                if not isinstance(item, dict):
                    raise Malformed(f"{name}[{at}]: {show(item)} is not an object")
        return self._assemble(body, timestamp, single=False)

    def _assemble(self, parts: Mapping[str, list[Body]], timestamp: int, *, single: bool) -> Append:
        tuples: dict[str, list[Row]] = {}
        changes: list[Change] = []
        stated: dict[int, str] = {}
        for name, items in parts.items():
            for at, item in enumerate(items):
                path = "" if single else f"{name}[{at}]."
                if name in self._chronicles:
                    row, chronon = self._chronicles[name].read(item, path)
                    tuples.setdefault(name, []).append(row)
                    if chronon is not None:
                        stated.setdefault(chronon, path)
                elif name in self._relations:
                    changes.append(self._relations[name].read(item, path, timestamp))
            if name not in self._chronicles and name not in self._relations:
                known = [*self._chronicles, *self._relations]
                raise Malformed(f"unknown chronicle '{name}'{did_you_mean(name, known)}")
        if len(stated) > 1:
            first, second = list(stated.values())[:2]
            raise Malformed(f"the tuples disagree on the chronon: {first[:-1]} and {second[:-1]}")
        chronon = next(iter(stated), timestamp) if tuples else None
        return Append(chronon, tuples, changes)


class _TupleReader:
    def __init__(self, columns: ChronicleColumns) -> None:
        self._fields = _fields(columns.schema.columns)
        self._chronon = columns.chronon
        self._declared = frozenset((*columns.schema.names, CHRONICLE_FIELD)) if columns.strict else None

    def read(self, item: Body, path: str) -> tuple[Row, int | None]:
        """The tuple, and the chronon that it states."""
        row = _read(self._fields, item, path)
        if self._declared is not None and (unknown := sorted(item.keys() - self._declared)):
            raise Malformed(f"{path}{unknown[0]}: the chronicle is strict and has no such column")
        if self._chronon is None:
            return row, None
        chronon = row[self._chronon]
        assert isinstance(chronon, int)  # a definition's chronon is a timestamp that is never null
        return row, chronon


class ChangeReader:
    def __init__(self, name: str, columns: RelationColumns) -> None:
        self._name = name
        self._fields = _fields(columns.schema.columns)
        self._key = _fields(columns.schema[key] for key in columns.key)

    def read(self, item: Body, path: str, timestamp: int) -> Change:
        op = _op(item.get("_op"), path)
        stated = item.get("_from")
        row = _read(self._key if op == "delete" else self._fields, item, path)
        return Change(self._name, op, timestamp if stated is None else _valid_from(stated, path), row)


def _op(stated: object, path: str) -> Op:
    match stated:
        case None | "upsert":
            return "upsert"
        case "delete":
            return "delete"
        case _:
            raise Malformed(f'{path}_op: {show(stated)} is neither "upsert" nor "delete"')


def _valid_from(stated: object, path: str) -> int:
    try:
        return parse_timestamp(stated)
    except WrongValueError as error:
        raise Malformed(f"{path}_from: {error}") from None


_Fields = tuple[tuple[str, Parser, bool], ...]
"""Name, parser, nullable: plain tuples, since every tuple of every message passes through them."""


def _fields(columns: Iterable[Column]) -> _Fields:
    return tuple((column.name, parser_of(column.type), column.nullable) for column in columns)


def _read(fields: _Fields, item: Body, path: str) -> Row:
    row: Row = {}
    name = ""
    try:
        for name, parse, nullable in fields:
            value = item.get(name)
            if value is not None:
                row[name] = parse(value)
            elif nullable:
                row[name] = None
            else:
                raise Malformed(f"{path}{name}: {'null, and not nullable' if name in item else 'missing'}")
    except WrongValueError as error:
        raise Malformed(f"{path}{name}: {error}") from None
    return row


def _is_envelope(body: Body) -> bool:
    for item in body.values():  # nearly every body is a tuple, and the first field says so
        if not isinstance(item, list):
            return False
    return bool(body)


def named_by(headers: Headers) -> str | None:
    """The chronicle or relation that the headers name."""
    return _named(tuple(headers)).chronicle


@dataclass(frozen=True, slots=True)
class _Named:
    """What the headers say about the body."""

    chronicle: str | None
    event_type: str | None
    is_event: bool


@lru_cache(maxsize=256)
def _named(headers: tuple[tuple[str, bytes | None], ...]) -> _Named:
    found = dict(headers)
    return _Named(
        _header(found, "chronicle"),
        _header(found, "ce_type") or _header(found, "ce-type"),
        (_header(found, "content-type") or "").startswith("application/cloudevents"),
    )


def _header(headers: Mapping[str, bytes | None], name: str) -> str | None:
    value = headers.get(name)
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Malformed(f"the header {name} is not UTF-8") from None


def _event_data(body: Body) -> Any:
    data = body.get("data")
    if not isinstance(data, dict):
        raise Malformed("the CloudEvent's data is not a JSON object")
    return data
