"""A relation's own topic: changes as JSON or as Debezium's events."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from chronicle.appends import Append, Change, Malformed, TopicDecoder, decoder_of, topic_decoder
from chronicle.definitions import load_text

NOW = 1_772_000_000_000_000
AT_MS = 1_772_359_200_000
AT = AT_MS * 1_000

TEXT = """
chronicle: 1
name: telecom
source: {kafka: {servers: "a:1", topics: [calls]}}
chronicles:
  calls: {columns: {caller: string}}
relations:
  customers:
    key: number
    columns: {number: string, state: string}
    source: {kafka: {topic: crm}}
  accounts:
    key: id
    columns: {id: int64, credit: "decimal(6,2)", since: timestamp?, day: date?}
    source: {kafka: {topic: db.accounts, format: debezium}}
"""
ROW = {"id": 7, "credit": "1.50"}
DECODED = {"id": 7, "credit": Decimal("1.50"), "since": None, "day": None}


@cache
def decoder(topic: str) -> TopicDecoder:
    loaded = load_text(TEXT)
    assert loaded.definition is not None, loaded.faults
    return topic_decoder(loaded.definition, topic)


def decoded(topic: str, body: Any, *headers: tuple[str, bytes]) -> Append:
    return decoder(topic).decode(None if body is None else json.dumps(body).encode(), headers, NOW)


def reason(topic: str, body: Any, *headers: tuple[str, bytes]) -> str:
    with pytest.raises(Malformed) as caught:
        decoded(topic, body, *headers)
    return caught.value.reason


def event(op: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "before": None, "after": None, "ts_ms": AT_MS + 5, "source": {"ts_ms": AT_MS}, **more}


def test_a_topic_of_the_source_is_read_as_the_group_is() -> None:
    loaded = load_text(TEXT)
    assert loaded.definition is not None
    assert topic_decoder(loaded.definition, "calls") is decoder_of(loaded.definition)
    assert reason("calls", None) == "the message has no value"


@pytest.mark.parametrize("headers", [(), (("chronicle", b"customers"),)])
@pytest.mark.parametrize(
    ("body", "op"),
    [
        ({"number": "c1", "state": "NJ"}, "upsert"),
        ({"_op": "delete", "number": "c1"}, "delete"),
        ({"specversion": "1.0", "type": "moved", "id": "1", "data": {"number": "c1", "state": "NJ"}}, "upsert"),
    ],
    ids=["upsert", "delete", "CloudEvent"],
)
def test_a_message_of_a_relations_topic_needs_no_name(body: Any, op: str, headers: Any) -> None:
    append = decoded("crm", body, *headers)
    row = {"number": "c1", "state": "NJ"} if op == "upsert" else {"number": "c1"}
    assert append == Append(None, {}, [Change("customers", op, NOW, row)])  # type: ignore[arg-type]


def test_a_relations_topic_takes_its_own_changes_only() -> None:
    assert "the header names 'calls'" in reason("crm", {"caller": "c1"}, ("chronicle", b"calls"))
    assert "takes its changes only" in reason("crm", {"calls": [{"caller": "c1"}]})


@pytest.mark.parametrize("topic", ["crm", "db.accounts"])
def test_a_tombstone_is_an_append_of_nothing(topic: str) -> None:
    assert decoded(topic, None) == Append(None, {}, ())


@pytest.mark.parametrize("op", ["c", "r", "u"])
def test_what_a_row_became_is_an_upsert_since_the_database_made_it(op: str) -> None:
    append = decoded("db.accounts", event(op, after=ROW))
    assert append == Append(None, {}, [Change("accounts", "upsert", AT, DECODED)])


def test_a_deleted_row_is_a_delete_of_its_key() -> None:
    append = decoded("db.accounts", event("d", before={"id": 7}))
    assert append.changes == [Change("accounts", "delete", AT, {"id": 7})]


@pytest.mark.parametrize(
    ("instants", "expected"),
    [
        ({"source": {"ts_ms": AT_MS}}, AT),
        ({"source": {"ts_ms": 0}}, AT + 5_000),
        ({"source": None}, AT + 5_000),
        ({"source": None, "ts_ms": None}, NOW),
    ],
    ids=["source", "unknown to the source", "no source", "none"],
)
def test_a_change_is_valid_from_the_best_instant_that_is_known(instants: dict[str, Any], expected: int) -> None:
    assert decoded("db.accounts", event("c", after=ROW, **instants)).changes[0].valid_from == expected


def test_the_schema_of_a_wrapped_event_says_what_its_values_stand_for() -> None:
    fields = [
        {"field": "id", "type": "int64"},
        {"field": "credit", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
        {"field": "since", "name": "io.debezium.time.MicroTimestamp"},
        {"field": "day", "name": "io.debezium.time.Date"},
    ]
    credit = b64encode((-150).to_bytes(2, "big", signed=True)).decode()
    row = {"id": 7, "credit": credit, "since": AT + 1, "day": 20_000}
    body = {"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": event("u", after=row)}
    expected = {"id": 7, "credit": Decimal("-1.50"), "since": AT + 1, "day": date(2024, 10, 4)}
    assert decoded("db.accounts", body).changes[0].row == expected
    body["payload"]["after"] = {**row, "credit": "not base64"}
    assert reason("db.accounts", body).startswith('after.credit: "not base64" is not a org.apache')


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (event("t"), 'op: "t" is none of'),
        ({"id": 7}, "op: null is none of"),
        (event("u"), "after: null is not an object"),
        (event("d"), "before: null is not an object"),
        (event("c", after={"id": 7}), "after.credit: missing"),
        (event("c", after={**ROW, "since": AT}), "after.since: 1772359200000000 is not a timestamp"),
    ],
)
def test_an_event_that_is_no_change_says_why(body: Any, expected: str) -> None:
    assert expected in reason("db.accounts", body)
