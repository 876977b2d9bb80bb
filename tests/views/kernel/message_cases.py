"""Messages as a source gives them, right and wrong in all ways thought of, and what the exact decoder says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from chronicle.appends import ChronicleColumns, Decoder, Group, Malformed, RelationColumns
from chronicle.journal import SCHEMA
from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, Column, DataType, Kind, Schema, decimal
from views.kernel.decoded import AT, GONE, NO_CHRONON, PLACE, SINCE, Decoded

Headers = tuple[tuple[str, bytes | None], ...]
Message = tuple[Headers, bytes | None]

TAKEN_AT = 1_767_225_600_000_000

RIGHT: dict[Kind, Sequence[str]] = {
    Kind.STRING: ['"c1"', '"c000002"', '""', '"ünï"', '"日本"', '"🎈"', '"{}"', '"NaN"', '"a b"', '"Infinity"', '"}{"'],
    Kind.INT64: ["0", "1", "-7", "1234", "9223372036854775807", "-9223372036854775808", "100"],
    Kind.DOUBLE: ["0.5", "1", "-2.25", "1e3", "1.5E-2", "0.1", "123456789.123456789", "2.2250738585072014e-308"],
    Kind.BOOL: ["true", "false"],
    Kind.TIMESTAMP: ['"2026-01-01T00:00:00Z"', '"2026-03-01T10:20:30Z"', '"1969-12-31T23:59:59Z"'],
    Kind.DATE: ['"2026-01-01"', '"2024-02-29"', '"1969-07-20"', '"0001-01-01"', '"9999-12-31"'],
    Kind.DECIMAL: ['"1.25"', '"0.00"', '"-3.10"', '"12"', "1.25", "7", "-0.5", "0"],
}

RARE: dict[Kind, Sequence[str]] = {
    Kind.STRING: [
        r'"a\"b"',
        r'"a\\b"',
        r'"\u00e9"',
        r'"\ud83d\ude00"',
        r'"\ud83d"',
        r'"\n\t\/"',
        '"a\tb"',
        '"a\x00b"',
        r'"\x41"',
        "1",
        "true",
        "null",
        "{}",
        "[]",
        "'c1'",
        "c1",
        '"abc',
        '"x"y"',
        r'"\u12"',
        '"a\x7f"',
        '"\u2028"',
        r'"\u0000"',
    ],
    Kind.INT64: [
        "1.0",
        "1e2",
        "-0",
        "01",
        "+1",
        "9223372036854775808",
        "-9223372036854775809",
        "1" * 401,
        '"1"',
        "true",
        "null",
        "1.",
        ".5",
        "0x10",
        "NaN",
        "[1]",
        "{}",
        "1_000",
        "- 1",
        "--1",
        "1 2",
        "٣",
    ],
    Kind.DOUBLE: [
        "-0.0",
        "-0",
        "NaN",
        "Infinity",
        "-Infinity",
        "Inf",
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "2e-324",
        "1" * 310,
        "1" * 401,
        "01.5",
        "1.",
        ".5",
        "+1.5",
        '"1.5"',
        "true",
        "null",
        "1e",
        "1e+",
        "0.1e+2",
        "1.7976931348623159e308",
        "0." + "0" * 400 + "1",
        "123456789012345678901234567890.5",
        "9007199254740993",
        "nan",
        "-nan",
        "0e0",
    ],
    Kind.BOOL: ["True", "1", "0", '"true"', "null", "TRUE", "tru", "[]", "falsey"],
    Kind.TIMESTAMP: [
        '"2026-01-01T00:00:00"',
        '"2026-01-01 00:00:00Z"',
        '"2026-01-01t00:00:00z"',
        '"2026-01-01T00:00Z"',
        '"2026-01-01T00Z"',
        '"2026-01-01"',
        '"2026-01-01T00:00:00.5Z"',
        '"2026-01-01T00:00:00.123456Z"',
        '"2026-01-01T00:00:00.123456789Z"',
        '"2026-01-01T00:00:00,25Z"',
        '"2026-01-01T00:00:00.1234567891Z"',
        '"2026-01-01T00:00:00+05:30"',
        '"2026-01-01T00:00:00-0800"',
        '"2026-01-01T00:00:00+01"',
        '"2026-01-01T00:00:00+24:00"',
        '"2026-01-01T00:00:00+23:59"',
        '"2026-01-01T24:00:00Z"',
        '"2026-01-01T23:60:00Z"',
        '"2026-01-01T23:59:60Z"',
        '"2026-02-29T00:00:00Z"',
        '"2024-02-29T00:00:00Z"',
        '"0001-01-01T00:00:00Z"',
        '"0001-01-01T00:00:00+01:00"',
        '"9999-12-31T23:59:59.999999Z"',
        '"9999-12-31T23:59:59-01:00"',
        '"0000-01-01T00:00:00Z"',
        '"20260101T000000Z"',
        '"2026-1-1T00:00:00Z"',
        '"+2026-01-01T00:00:00Z"',
        '"2026-01-01T00:00:00 Z"',
        '" 2026-01-01T00:00:00Z"',
        '"2026-01-01T00:00:00.Z"',
        '"2026-01-01T00:00:00-00:00"',
        '"2026-01-01T00:00:00Zjunk"',
        '"2026-01-01T00:00:00UTC"',
        "1767225600",
        '"1767225600"',
        "null",
        '""',
        '"2026-01-01T00:00:0٣Z"',
        '"2026-01-01T00:00:00+05:60"',
        '"1969-12-31T23:59:59.9999999Z"',
        '"2026-01-01T00:00.5Z"',
        '"2026-01-01T00:00:00+5:30"',
        r'"2026-01-01T00:00:00\u005a"',
        '"2026-00-01T00:00:00Z"',
        '"2026-13-01T00:00:00Z"',
        '"2026-01-00T00:00:00Z"',
        '"2026/01/01T00:00:00Z"',
        '"2026-01-01T00.00.00Z"',
        '"2026-01-01_00:00:00Z"',
        '"2026-01-01T00:00:00Z "',
        '"1900-02-29T00:00:00Z"',
        '"2000-02-29T00:00:00Z"',
        '"2026-04-31T00:00:00Z"',
        '"2026-01-01T-1:00:00Z"',
        '"2026-01-01T00:00:00-1:00"',
        '"-026-01-01T00:00:00Z"',
    ],
    Kind.DATE: [
        '"2026-02-29"',
        '"2026-1-1"',
        '"20260101"',
        '"2026-01-01T00:00:00Z"',
        '"0000-01-01"',
        '"10000-01-01"',
        "null",
        "20454",
        '"2026-W01-1"',
        '""',
        '" 2026-01-01"',
        '"2026-01-01 "',
        '"+2026-01-01"',
        '"-001-01-01"',
        '"2026-13-01"',
    ],
    Kind.DECIMAL: [
        '"1.255"',
        "1.255",
        '"1e2"',
        "1e2",
        '"1.5e1"',
        "15e-1",
        '"+1.5"',
        '"-0.00"',
        "-0",
        "-0.0",
        '".5"',
        '"5."',
        '""',
        '"1234567890.12"',
        '"12345678901.12"',
        '"9999999999.99"',
        '"99999999999.99"',
        "10000000000",
        "1e30",
        "1e-30",
        '"NaN"',
        "NaN",
        '"Infinity"',
        "true",
        "null",
        "{}",
        '" 1"',
        '"1 "',
        '"1_0"',
        '"0x1"',
        '"1,5"',
        '"007.10"',
        "1.250",
        '"1.250"',
        "1E+2",
        '"1e1234567"',
        '"٣"',
        "12345678901234567890123456789012345678901234567890",
        '"+-1"',
        '"--1"',
        '"1.2.3"',
        '"-"',
        '"+"',
        '"."',
        '"0000000000000000000000001.5"',
        "0.00",
        '"-.5"',
        '"1.-5"',
        '"1.+5"',
        '"1-5"',
    ],
}

JUNK: Sequence[bytes | None] = [
    None,
    b"",
    b" ",
    b"{}",
    b"{",
    b"}",
    b"{}}",
    b"{{}",
    b"[]",
    b"[{}]",
    b"null",
    b"1",
    b'"x"',
    b"{}{}",
    b"{} {}",
    b"{}\n{}",
    b"\xef\xbb\xbf{}",
    b"\xff\xfe",
    b'{"caller":"\xff"}',
    b'{"caller":"\xed\xa0\x80"}',
    b'{"x":}',
    b'{"x"}',
    b"{,}",
    b'{"x":1,}',
    b'{"caller":"c1"',
    b'"caller":"c1"}',
    b"{'caller':'c1'}",
    b'{"a":{"b":1}',
    b'{"a":"}',
    b'{"a":[{}',
    b'{"a":1}\x00{}',
    b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}",
    b"{/**/}",
    b"{//}",
    b"{\x00}",
    b'{"":1}',
    b"{null:1}",
]

SPOILS = (
    "twice",
    "space",
    "newline",
    "extra",
    "nested twice",
    "cut",
    "double",
    "bom",
    "nested",
    "event",
    "list",
    "bytes",
)


def column(name: str, type_: DataType, *, nullable: bool = False) -> Column:
    return Column(name, type_, nullable)


WIDE = Schema(
    (
        column("caller", STRING),
        column("seconds", INT64),
        column("rate", DOUBLE),
        column("free", BOOL),
        column("at", TIMESTAMP),
        column("day", DATE),
        column("amount", decimal(12, 2)),
    )
)
NULLABLE = Schema(tuple(Column(each.name, each.type, each.name != "at") for each in WIDE.columns))
PLAIN = Schema((column("caller", STRING), column("seconds", INT64), column("at", TIMESTAMP)))
CUSTOMERS = Schema((column("number", STRING), column("plan", STRING, nullable=True), column("fee", decimal(5, 0))))

GROUPS: dict[str, Group] = {
    "wide": Group({"calls": ChronicleColumns(WIDE, "at")}, {}),
    "strict": Group({"calls": ChronicleColumns(WIDE, "at", strict=True)}, {}),
    "nullable": Group({"calls": ChronicleColumns(NULLABLE, "at")}, {}),
    "strict, all null": Group({"calls": ChronicleColumns(NULLABLE, None, strict=True)}, {}),
    "no chronon": Group({"calls": ChronicleColumns(PLAIN)}, {"customers": RelationColumns(CUSTOMERS, ("number",))}),
    "two": Group(
        {"calls": ChronicleColumns(PLAIN, "at"), "payments": ChronicleColumns(WIDE, "at", strict=True)},
        {"customers": RelationColumns(CUSTOMERS, ("number",))},
    ),
    "own names": Group(
        {
            "calls": ChronicleColumns(
                Schema((column("specversion", STRING), column("_chronicle", STRING, nullable=True)))
            )
        },
        {"customers": RelationColumns(Schema((column("number", STRING), column("_op", STRING))), ("number",))},
    ),
}


def message(draw: random.Random, group: Group, oddness: float) -> Message:
    """One message: of a chronicle or a relation, as a tuple, an envelope or an event, with and without headers."""
    names = [*group.chronicles, *group.relations]
    name = draw.choice(names)
    if draw.random() < oddness * 0.2:
        return _headers(draw, name, oddness), draw.choice(JUNK)
    only = len(group.chronicles) == 1 and name in group.chronicles
    item = _item(draw, group, name, oddness)
    form = draw.random()
    if form < 0.1:
        parts = [(each, [_item(draw, group, each, 0)]) for each in draw.sample(names, draw.randint(1, len(names)))]
        return (), _envelope([*parts, *([(name, [item, item])] if draw.random() < 0.3 else [])])
    if form < 0.15:
        return (), b'{"specversion":"1.0","type":"%s","data":%s}' % (name.encode(), item)
    if form < 0.4:
        return (), _field(item, "_chronicle", f'"{name}"')
    if only and form < 0.8:
        return (), item
    return _headers(draw, name, oddness), item


def _envelope(parts: Sequence[tuple[str, list[bytes]]]) -> bytes:
    return b"{%s}" % b",".join(b'"%s":[%s]' % (name.encode(), b",".join(items)) for name, items in parts)


def _headers(draw: random.Random, name: str, oddness: float) -> Headers:
    right: Headers = (("chronicle", name.encode()),)
    if draw.random() >= oddness:
        return right
    odd: Sequence[Headers] = [
        (),
        (("chronicle", b"unknown"),),
        (("chronicle", b"\xff"),),
        (("chronicle", None),),
        (("Chronicle", b"unknown"),),
        (("ce_type", name.encode()),),
        (("ce_type", b"unknown"),),
        (("content-type", b"application/cloudevents+json"),),
        (("trace", b"1"), *right),
        (("chronicle", b"unknown"), *right),
        (*right, ("chronicle", b"unknown")),
        (*right, ("ce-type", b"unknown")),
        (("chronicle", b""),),
        (("ce_type", b"\xff"), *right),
        (("content-type", b"\xff"), *right),
    ]
    return draw.choice(odd)


def _item(draw: random.Random, group: Group, name: str, oddness: float) -> bytes:
    relation = group.relations.get(name)
    schema = relation.schema if relation is not None else group.chronicles[name].schema
    fields = [(each.name, _text(draw, each, oddness)) for each in schema.columns]
    if draw.random() < oddness:
        fields.remove(draw.choice(fields))
    if relation is not None and draw.random() < 0.4:
        fields.append(("_op", draw.choice(['"upsert"', '"upsert"', '"delete"', "null", '"x"', "1"])))
    if relation is not None and draw.random() < 0.4:
        when = draw.choice(RARE[Kind.TIMESTAMP] if draw.random() < oddness else RIGHT[Kind.TIMESTAMP])
        fields.append(("_from", when))
    if draw.random() < 0.3:
        draw.shuffle(fields)
    body = ("{" + ",".join(f'"{field}":{text}' for field, text in fields) + "}").encode()
    return _spoilt(draw, body, fields) if draw.random() < oddness * 0.7 else body


def _text(draw: random.Random, each: Column, oddness: float) -> str:
    if each.nullable and draw.random() < 0.2:
        return "null"
    return draw.choice((RARE if draw.random() < oddness * 0.3 else RIGHT)[each.type.kind])


def _field(item: bytes, name: str, text: str) -> bytes:
    if not item.endswith(b"}") or item == b"{}":
        return item
    return item[:-1] + f',"{name}":{text}}}'.encode()


def _spoilt(draw: random.Random, body: bytes, fields: Sequence[tuple[str, str]]) -> bytes:
    """The body with one thing changed, which may or may not make it malformed."""
    field, text = draw.choice([*fields, ("x", "1")])
    match draw.choice(SPOILS):
        case "twice":
            return _field(body, field, text)
        case "space":
            return b" " + body.replace(b":", b" : ").replace(b",", b"\t,\r") + b" "
        case "newline":
            return body.replace(b",", b",\n")
        case "extra":
            odd = [
                "1",
                "null",
                '"x"',
                "[]",
                "{}",
                "NaN",
                "-Infinity",
                '"NaN"',
                "1e999",
                '{"a":[1,{"b":2}]}',
                "01",
                "Inf",
            ]
            names = ["x", "y", "specversion", "type", "data", "@at", "_from", "_op", "_chronicle"]
            return _field(body, draw.choice(names), draw.choice(odd))
        case "nested twice":
            return _field(
                body, draw.choice(["x", "y"]), draw.choice(['{"a":1,"a":2}', '[{"a":1,"a":2}]', '{"a":{},"a":1}'])
            )
        case "cut":
            return body[: draw.randrange(len(body) + 1)]
        case "double":
            return body + draw.choice([b"", b" ", b"\n", b","]) + body
        case "bom":
            return b"\xef\xbb\xbf" + body
        case "nested":
            return _field(
                body,
                "x",
                draw.choice(
                    [
                        '{"amount":1.25}',
                        f'{{"{field}":1}}',
                        "[" * 30 + "]" * 30,
                        '{"a":{"a":{"a":1}}}',
                        '[{"x":1},{"x":"y"}]',
                    ]
                ),
            )
        case "event":
            return _field(
                _field(_field(body, "specversion", '"1.0"'), "type", '"calls"'), "data", draw.choice(["{}", "1"])
            )
        case "list":
            return _field(body, field, "[]")
        case _:
            at = draw.randrange(len(body))
            return (
                body[:at] + draw.choice([b"\xff", b"\\", b'"', b"\x00", b"}", b"{", b",", b"0", b" "]) + body[at + 1 :]
            )


def table_of_messages(messages: Sequence[Message], chunks: int = 1) -> pa.Table:
    """As `Journal.read_arrow` gives them."""
    distinct = list({headers: None for headers, _ in messages if headers})
    pairs = pa.array(
        [[{"key": k, "value": v} for k, v in h] for h in distinct], SCHEMA.field("headers").type.value_type
    )
    numbers = pa.array([distinct.index(headers) if headers else None for headers, _ in messages], pa.int32())
    count = len(messages)
    whole = pa.table(
        [
            pa.array(range(count), pa.int64()),
            pa.array([TAKEN_AT + at for at in range(count)], pa.int64()),
            pa.nulls(count, pa.binary()),
            pa.DictionaryArray.from_arrays(numbers, pairs),
            pa.array([value for _, value in messages], pa.binary()),
        ],
        schema=SCHEMA,
    )
    size = max(1, -(-count // chunks))
    return pa.concat_tables([whole[at : at + size] for at in range(0, count, size)] or [whole])


Meaning = str | tuple[int | None, dict[str, list[Any]], list[Any]]


def exactly(decoder: Decoder, messages: Sequence[Message]) -> list[Meaning]:
    """What each message means, or why it is malformed."""
    found: list[Meaning] = []
    for at, (headers, value) in enumerate(messages):
        try:
            append = decoder.decode(value, headers, TAKEN_AT + at)
        except Malformed as error:
            found.append(error.reason)
            continue
        changes = [(each.relation, each.op, each.valid_from, _comparable(each.row)) for each in append.changes]
        tuples = {name: [_comparable(row) for row in rows] for name, rows in append.tuples.items()}
        found.append((append.chronon, tuples, changes))
    return found


def meanings(group: Group, decoded: Decoded, count: int) -> list[Meaning]:
    """What a decoded range says of each message, in the form of `exactly`."""
    tuples: list[dict[str, dict[int, Any]]] = [{} for _ in range(count)]
    changes: list[dict[int, Any]] = [{} for _ in range(count)]
    for name, table in decoded.tuples.items():
        for row in _rows(table):
            at, place = row.pop(AT), row.pop(PLACE)
            places = tuples[at].setdefault(name, {})
            assert place not in places
            places[place] = _comparable(row)
    for name, table in decoded.changes.items():
        for row in _rows(table):
            at, place, since, gone = (row.pop(each) for each in (AT, PLACE, SINCE, GONE))
            assert place not in changes[at]
            kept = {key: row[key] for key in group.relations[name].key} if gone else row
            changes[at][place] = (name, "delete" if gone else "upsert", since, _comparable(kept))
    found: list[Meaning] = []
    for at in range(count):
        chronon = int(decoded.chronons[at])
        if at in decoded.malformed:
            assert not tuples[at]
            assert not changes[at]
            found.append(decoded.malformed[at])
            continue
        rows = {name: [each[place] for place in range(len(each))] for name, each in tuples[at].items()}
        found.append((None if chronon == NO_CHRONON else chronon, rows, [changes[at][n] for n in sorted(changes[at])]))
    return found


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    micros = [pa.field(each.name, pa.int64()) if pa.types.is_timestamp(each.type) else each for each in table.schema]
    return table.cast(pa.schema(micros)).to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def _comparable(row: dict[str, Any]) -> dict[str, str]:
    """By representation: 0.0 is not -0.0, and a decimal has its scale."""
    return {name: repr(value) for name, value in row.items()}
