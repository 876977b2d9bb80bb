"""Laws of the key encoding: it keeps order, it comes back, and both ways to compute it agree."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType, Kind, Value, decimal
from views.state import decode_key, encode_keys, key_encoder, shard_of, shards_of
from views.state.keys import NO_PERIOD, SHORT_KEY, row_prefix, shorten, split_row_key
from views.state.versions import arrow_type

WIDE = decimal(38, 4)
_int64 = st.integers(-(1 << 63), (1 << 63) - 1)
_text = st.text(st.sampled_from("\x00\x01\x02aé😀"), max_size=5) | st.text(max_size=8)
_decimals = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(n).scaleb(-4, _CONTEXT))
_VALUES: dict[DataType, st.SearchStrategy[Value]] = {
    STRING: _text,
    INT64: _int64,
    TIMESTAMP: _int64,
    DOUBLE: st.floats(),
    BOOL: st.booleans(),
    DATE: st.dates(date(1, 1, 1), date(9999, 12, 31)),
    WIDE: _decimals,
}


def _context():
    from decimal import Context

    return Context(prec=60)


_CONTEXT = _context()


def _sortable(kind: DataType, value: Value) -> tuple:
    """Nulls first, NaN last, -0.0 and 0.0 alike, strings by code point."""
    if value is None:
        return (0,)
    if kind.kind is Kind.DOUBLE:
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return (1, value.encode() if isinstance(value, str) else value)


@st.composite
def _columns(draw: st.DrawFn) -> tuple[list[DataType], list[list[Value]]]:
    types = draw(st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(*(st.none() | _VALUES[kind] for kind in types)), min_size=1, max_size=6))
    return types, [list(row) for row in rows]


@given(_columns())
def test_order_of_keys_is_order_of_values(columns: tuple[list[DataType], list[list[Value]]]) -> None:
    types, rows = columns
    encode = key_encoder(types)
    by_value = sorted(rows, key=lambda row: [_sortable(kind, v) for kind, v in zip(types, row, strict=True)])
    assert [encode(row) for row in by_value] == sorted(encode(row) for row in rows)


@given(_columns())
def test_decoding_gives_the_values_back(columns: tuple[list[DataType], list[list[Value]]]) -> None:
    types, rows = columns
    encode = key_encoder(types)
    for row in rows:
        decoded = decode_key(types, encode(row))
        assert [_sortable(k, v) for k, v in zip(types, decoded, strict=True)] == [
            _sortable(k, v) for k, v in zip(types, row, strict=True)
        ]


@given(_columns(), st.integers(0, 2))
def test_arrow_columns_encode_to_the_same_bytes_and_shards(
    columns: tuple[list[DataType], list[list[Value]]], skipped: int
) -> None:
    types, rows = columns
    arrays = [
        pa.array([row[i] for row in rows], type=pa.int64() if kind is TIMESTAMP else arrow_type(kind)).slice(skipped)
        for i, kind in enumerate(types)
    ]
    kept = rows[skipped:]
    encode = key_encoder(types)
    keys = encode_keys(types, arrays, len(kept))
    assert keys.to_pylist() == [encode(row) for row in kept]
    assert shards_of(keys, 7).tolist() == [shard_of(encode(row), 7) for row in kept]


def test_the_format_of_keys_is_pinned() -> None:
    encode = key_encoder([STRING, INT64, decimal(12, 2), BOOL, DATE])
    key = encode(["a\x00", -1, Decimal("1.5"), True, date(1970, 1, 2)])
    assert key.hex() == ("0161010100017fffffffffffffff018000000000000000000000000000009601010180000001")
    assert shard_of(b"\x01c1\x00", 8) == 2
    assert row_prefix(1, 0).hex() == "00018000000000000000"


def test_timestamps_come_as_arrow_instants_too() -> None:
    instants = pa.array([0, -5, 1_700_000_000_000_000], type=pa.timestamp("us", "UTC"))
    assert encode_keys([TIMESTAMP], [instants], 3) == encode_keys([TIMESTAMP], [instants.cast(pa.int64())], 3)


def test_a_view_without_keys_has_one_empty_key() -> None:
    assert encode_keys([], [], 2).to_pylist() == [b"", b""]
    assert key_encoder([])([]) == b""


def test_a_row_key_splits_into_its_parts() -> None:
    for start in (NO_PERIOD, -1, 0, 1_700_000_000_000_000):
        assert split_row_key(row_prefix(513, start) + b"rest") == (513, start, b"rest")


def test_long_keys_are_shortened_to_one_width_and_stay_apart() -> None:
    keys = [b"x" * SHORT_KEY, b"x" * 10_000, b"x" * 10_000 + b"y"]
    assert {len(shorten(key)) for key in keys} == {SHORT_KEY}
    assert len({shorten(key) for key in keys}) == 3
    assert shorten(b"x" * (SHORT_KEY - 1)) == b"x" * (SHORT_KEY - 1)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(INT64, "1"), (INT64, True), (INT64, 1 << 63), (STRING, 1), (DATE, 1), (decimal(5, 2), Decimal("0.001"))],
)
def test_a_value_of_another_type_is_refused(kind: DataType, value: Value) -> None:
    with pytest.raises(ValueError, match=r"is no|more than"):
        key_encoder([kind])([value])
