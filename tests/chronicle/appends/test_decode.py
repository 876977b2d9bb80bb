"""What a message means, and why it is malformed."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from chronicle.appends import Append, Change, Malformed, decode
from tests.chronicle.appends.groups import TWO, definition

NOW = 1_772_000_000_000_000
AT = 1_772_359_200_000_000
CALL = {"caller": "c1", "seconds": 60, "amount": "1.50", "at": "2026-03-01T10:00:00Z"}
ROW = {"caller": "c1", "seconds": 60, "amount": Decimal("1.50"), "at": AT, "note": None}


def decoded(body: Any, headers: tuple[tuple[str, bytes | None], ...] = (), text: str | None = None) -> Append:
    value = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    return decode(value, headers, NOW, definition(text) if text else definition())


def reason(body: Any, headers: tuple[tuple[str, bytes | None], ...] = (), text: str | None = None) -> str:
    with pytest.raises(Malformed) as caught:
        decoded(body, headers, text)
    return caught.value.reason


def test_a_body_is_one_tuple_of_the_only_chronicle() -> None:
    assert decoded(CALL) == Append(AT, {"calls": [ROW]}, ())


def test_an_envelope_holds_tuples_and_changes_under_one_sequence_number() -> None:
    append = decoded({"calls": [CALL, CALL], "customers": [{"number": "c1", "state": "NJ"}]})
    assert append.chronon == AT
    assert append.tuples == {"calls": [ROW, ROW]}
    assert append.changes == [Change("customers", "upsert", NOW, {"number": "c1", "state": "NJ", "credit": None})]


def test_changes_alone_have_no_chronon() -> None:
    append = decoded({"customers": [{"_op": "delete", "_from": "2026-03-01T10:00:00Z", "number": "c1"}]})
    assert append == Append(None, {}, [Change("customers", "delete", AT, {"number": "c1"})])


def test_the_chronon_is_when_the_append_was_taken_where_no_column_states_it() -> None:
    assert decoded({"_chronicle": "deposits", "account": "a", "amount": 1}, text=TWO).chronon == NOW


def test_tuples_that_disagree_on_the_chronon_make_the_append_malformed() -> None:
    later = {**CALL, "at": "2026-03-01T10:00:01Z"}
    assert reason({"calls": [CALL, later]}) == "the tuples disagree on the chronon: calls[0] and calls[1]"


def test_the_same_chronon_may_be_written_with_different_offsets() -> None:
    assert decoded({"calls": [CALL, {**CALL, "at": "2026-03-01T05:00:00-05:00"}]}).chronon == AT


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"account": "a", "amount": 1}, (("chronicle", b"deposits"),)),
        ({"account": "a", "amount": 1}, (("ce_type", b"deposits"),)),
        ({"_chronicle": "deposits", "account": "a", "amount": 1}, ()),
        ({"specversion": "1.0", "type": "deposits", "id": "1", "data": {"account": "a", "amount": 1}}, ()),
        ({"deposits": [{"account": "a", "amount": 1}]}, (("chronicle", b"transfers"),)),
    ],
    ids=["header", "CloudEvents header", "field", "CloudEvent", "envelope"],
)
def test_a_message_names_its_chronicle_in_each_way(body: Any, headers: Any) -> None:
    assert decoded(body, headers, TWO).tuples == {"deposits": [{"account": "a", "amount": Decimal("1.00")}]}


def test_a_message_that_names_none_of_several_chronicles_is_malformed() -> None:
    assert reason({"account": "a"}, text=TWO) == "the message names no chronicle, and the group has deposits, transfers"
    assert "did you mean 'deposits'" in reason({"_chronicle": "deposit"}, text=TWO)
    assert "unknown chronicle 'cals'" in reason({"calls": [CALL], "cals": []})


def test_header_and_field_must_agree() -> None:
    body = {"_chronicle": "deposits", "account": "a", "amount": 1}
    assert "the header names the chronicle 'transfers'" in reason(body, (("chronicle", b"transfers"),), TWO)


def test_one_malformed_tuple_makes_the_whole_append_malformed() -> None:
    assert reason({"calls": [CALL, {**CALL, "seconds": "60"}]}) == 'calls[1].seconds: "60" is not an int64'


def test_undeclared_fields_are_ignored_unless_the_chronicle_is_strict() -> None:
    transfer = {"_chronicle": "transfers", "account": "a", "day": "2026-02-28", "ok": True, "rate": 1}
    row = {"account": "a", "day": date(2026, 2, 28), "ok": True, "rate": 1.0}
    assert decoded({**CALL, "more": {}}).tuples == {"calls": [ROW]}
    assert decoded(transfer, text=TWO).tuples == {"transfers": [row]}
    assert reason({**transfer, "more": 1}, text=TWO) == "more: the chronicle is strict and has no such column"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"caller": None}, "caller: null, and not nullable"),
        ({"caller": 7}, "caller: 7 is not a string"),
        ({"seconds": 1.0}, "seconds: 1.0 is not an int64"),
        ({"seconds": True}, "seconds: true is not an int64"),
        ({"seconds": 1 << 63}, "seconds: 9223372036854775808 is outside the range of int64"),
        ({"amount": "1.234"}, 'amount: "1.234" has 3 digits after the point, decimal(6,2) has 2'),
        ({"amount": "12345.00"}, 'amount: "12345.00" has more digits than decimal(6,2)'),
        ({"amount": "1,5"}, 'amount: "1,5" is not a decimal(6,2)'),
        ({"at": "2026-03-01T10:00:00"}, "has no offset; a timestamp ends with Z or one like -05:00"),
        ({"at": "2026-02-30T10:00:00Z"}, "is not a day of the calendar"),
        ({"at": "2026-03-01T24:00:00Z"}, "is not a time of the day"),
        ({"at": 1772359200}, "at: 1772359200 is not a timestamp like 2026-03-01T10:00:00Z"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_named(change: dict[str, Any], expected: str) -> None:
    assert expected in reason({**CALL, **change})


@pytest.mark.parametrize("amount", ["1.5", "1.50", "+1.5", "15e-1", b"1.5", b"1.50", b"150E-2", b"0.15e1"])
def test_a_decimal_is_exact_however_it_is_written(amount: str | bytes) -> None:
    written = amount if isinstance(amount, bytes) else json.dumps(amount).encode()
    body = json.dumps(CALL).encode().replace(b'"1.50"', written)
    assert decoded(body).tuples["calls"][0]["amount"] == Decimal("1.50")


def test_a_decimal_keeps_the_scale_of_its_column_and_has_one_zero() -> None:
    assert str(decoded({**CALL, "amount": "-0.00"}).tuples["calls"][0]["amount"]) == "0.00"
    assert str(decoded({**CALL, "amount": -1}).tuples["calls"][0]["amount"]) == "-1.00"


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-03-01T10:00:00Z", 0),
        ("2026-03-01t10:00:00z", 0),
        ("2026-03-01T10:00Z", 0),
        ("2026-03-01 15:30:00+05:30", 0),
        ("2026-03-01T05:00:00-0500", 0),
        ("2026-03-01T10:00:00.5Z", 500_000),
        ("2026-03-01T10:00:00.123456789Z", 123_456),
    ],
)
def test_timestamps_are_iso_8601_with_an_offset(text: str, micros: int) -> None:
    assert decoded({**CALL, "at": text}).chronon == AT + micros


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, "the message has no value"),
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"[1]", "the body is not a JSON object"),
        (b"\xff{}", "the body is not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbf{}", "the body begins with a byte order mark"),
        (b'{"caller": "a", "caller": "b"}', "the field 'caller' is there twice"),
        (b'{"caller": NaN}', "NaN is not a JSON value"),
        (b'{"caller": "\\ud800"}', "half of a surrogate pair"),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"calls": [1]}', "calls[0]: 1 is not an object"),
        (b'{"customers": [{"_op": "insert"}]}', 'customers[0]._op: "insert" is neither "upsert" nor "delete"'),
        (b'{"customers": [{"_from": "now", "number": "c", "state": "NJ"}]}', "customers[0]._from:"),
        (b'{"customers": [{"_op": "delete"}]}', "customers[0].number: missing"),
        (b"{} {}", "the body is not JSON: Extra data"),
    ],
)
def test_a_body_that_is_no_append_says_why(body: bytes | None, expected: str) -> None:
    assert expected in reason(body)


def test_a_body_may_have_white_space_around_it() -> None:
    assert decoded(b" \t" + json.dumps(CALL).encode() + b"\r\n").chronon == AT
