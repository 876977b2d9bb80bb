"""A message says what it is by header, CloudEvents (structured or binary), field or envelope: all mean the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chronicle.appends import Append, Malformed, decode
from chronicle.definitions import load_text

LOADED = load_text("""
chronicle: 1
name: bank
source: {kafka: {servers: "a:1", topics: [bank]}}
chronicles:
  deposits: {columns: {account: string}}
  payments: {columns: {account: string}}
relations:
  owners: {key: account, columns: {account: string, name: string}}
""")
TUPLE = {"account": "a"}
EVENT = {"specversion": "1.0", "id": "1", "source": "/bank", "type": "deposits", "data": TUPLE}
STRUCTURED = ("content-type", b"application/cloudevents+json; charset=utf-8")
BINARY = [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("content-type", b"application/json")]
Headers = list[tuple[str, bytes | None]]


def decoded(body: Any, headers: Headers) -> Append:
    assert LOADED.definition is not None, LOADED.faults
    return decode(json.dumps(body).encode(), headers, 5, LOADED.definition)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (TUPLE, [("chronicle", b"deposits")]),
        (TUPLE, [*BINARY, ("ce_type", b"deposits")]),
        (EVENT, [STRUCTURED]),
        (EVENT, []),
        ({**EVENT, "type": "payments"}, [("chronicle", b"deposits")]),
        ({**TUPLE, "_chronicle": "deposits"}, []),
        ({"deposits": [TUPLE]}, []),
        ({**EVENT, "data": {"deposits": [TUPLE]}, "type": "batch"}, [STRUCTURED]),
        (TUPLE, [("trace", None), ("chronicle", b"deposits")]),
    ],
    ids=[
        "header", "binary event", "structured event", "event by its fields", "header before type", "field", "envelope",
        "event of an envelope", "other headers",
    ],
)  # fmt: skip
def test_all_forms_mean_the_same_append(body: Any, headers: Headers) -> None:
    append = decoded(body, headers)
    assert (append.chronon, append.tuples, list(append.changes)) == (5, {"deposits": [TUPLE]}, [])


def test_an_event_may_be_a_change_of_a_relation() -> None:
    append = decoded({"account": "a", "name": "Ann"}, [*BINARY, ("ce_type", b"owners")])
    assert [(change.relation, change.op) for change in append.changes] == [("owners", "upsert")]


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ({**EVENT, "data": "text"}, [STRUCTURED], "the CloudEvent's data is not a JSON object"),
        ({**EVENT, "type": "deposit"}, [STRUCTURED], "unknown chronicle 'deposit'; did you mean 'deposits'?"),
        (TUPLE, [*BINARY, ("ce_type", b"\xff")], "the header ce_type is not UTF-8"),
        (TUPLE, [], "the message names no chronicle"),
    ],
)
def test_a_form_that_names_nothing_known_is_malformed(body: Any, headers: Headers, expected: str) -> None:
    with pytest.raises(Malformed, match=expected.replace("?", r"\?")):
        decoded(body, headers)
