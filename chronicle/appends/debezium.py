"""Debezium's change events: `op`, `before` and `after` of a row, bare or wrapped in `schema` and `payload`.

A change is valid from the instant that the database made it (`source.ts_ms`), otherwise from when Debezium saw it
(`ts_ms`). Where the schema comes with the message, it tells what the encoded texts and numbers stand for: decimals in
base64, days and instants as counts since 1970; an instant without a zone is taken as UTC, as Debezium writes it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from chronicle.appends.body import Body, Malformed
from chronicle.appends.decode import Change, ChangeReader
from chronicle.appends.values import show

_OPS = {"c": "after", "r": "after", "u": "after", "d": "before"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=80)

Parameters = Mapping[str, Any]


def read_event(reader: ChangeReader, body: Body, timestamp: int) -> Change:
    """The change that an event is; `timestamp` is when the broker took it, for an event without an instant."""
    schema = body.get("schema") if isinstance(body.get("payload"), dict) else None
    payload: Body = body["payload"] if isinstance(body.get("payload"), dict) else body
    op = payload.get("op")
    image = _OPS.get(op) if isinstance(op, str) else None
    if image is None:
        raise Malformed(f'op: {show(op)} is none of "c", "r", "u" and "d"')
    row = payload.get(image)
    if not isinstance(row, dict):
        raise Malformed(f"{image}: {show(row)} is not an object, and the op is {show(op)}")
    plain = _plain(row, schema, image)
    plain.pop("_op", None)
    plain.pop("_from", None)
    if op == "d":
        plain["_op"] = "delete"
    return reader.read(plain, f"{image}.", _valid_from(payload, timestamp))


def _valid_from(payload: Body, timestamp: int) -> int:
    source = payload.get("source")
    for stated in (source.get("ts_ms") if isinstance(source, dict) else None, payload.get("ts_ms")):
        if type(stated) is int and stated > 0:
            return stated * 1_000
    return timestamp


def _plain(row: Body, schema: object, image: str) -> Body:
    """The row with its values as an append would write them."""
    plain = dict(row)
    for field in _fields(schema, image):
        name, kind = field.get("field"), field.get("name")
        write = _WRITERS.get(kind) if isinstance(kind, str) else None
        if write is None or not isinstance(name, str) or plain.get(name) is None:
            continue
        try:
            plain[name] = write(plain[name], field.get("parameters") or {})
        except (TypeError, ValueError, KeyError, OverflowError):
            raise Malformed(f"{image}.{name}: {show(row[name])} is not a {kind}") from None
    return plain


def _fields(schema: object, image: str) -> list[Body]:
    """The fields of the row, as the schema of the envelope describes them."""
    for part in _children(schema):
        if part.get("field") == image:
            return _children(part)
    return []


def _children(schema: object) -> list[Body]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _decimal(value: Any, parameters: Parameters) -> str:
    if not isinstance(value, str):
        raise TypeError
    unscaled = int.from_bytes(b64decode(value, validate=True), "big", signed=True)
    return f"{Decimal(unscaled).scaleb(-int(parameters['scale']), _EXACT):f}"


def _day(value: Any, _: Parameters) -> str:
    return (_EPOCH + timedelta(days=_whole(value))).date().isoformat()


def _instant(per_second: int) -> Callable[[Any, Parameters], str]:
    def write(value: Any, _: Parameters) -> str:
        micros = _whole(value) * 1_000_000 // per_second
        return (_EPOCH + timedelta(microseconds=micros)).isoformat()

    return write


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


_WRITERS: dict[str, Callable[[Any, Parameters], str]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "org.apache.kafka.connect.data.Date": _day,
    "org.apache.kafka.connect.data.Timestamp": _instant(1_000),
    "io.debezium.time.Date": _day,
    "io.debezium.time.Timestamp": _instant(1_000),
    "io.debezium.time.MicroTimestamp": _instant(1_000_000),
    "io.debezium.time.NanoTimestamp": _instant(1_000_000_000),
}
