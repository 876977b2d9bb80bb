"""Bulk decoding says of every message what the exact decoder says, whatever stands beside it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_cases import GROUPS, JUNK, RARE, RIGHT, Message, exactly, meanings, message, table_of_messages

from chronicle.appends import Decoder, Group
from chronicle.types import Kind
from views.kernel import bulk
from views.kernel.decode import decode_range


@pytest.fixture(params=["few are left to the exact decoder", "none is too few for the parser"])
def _few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to decode must be right for any message, so neither may hide behind the other."""
    if request.param.startswith("none"):
        monkeypatch.setattr(bulk, "_FEW", 1)


def _agree(group: Group, messages: list[Message], chunks: int = 1) -> None:
    decoder = Decoder(group)
    decoded = decode_range(group, decoder, table_of_messages(messages, chunks))
    for got, expected, each in zip(
        meanings(group, decoded, len(messages)), exactly(decoder, messages), messages, strict=True
    ):
        assert got == expected, each


@pytest.mark.usefixtures("_few")
@given(
    seed=st.integers(0, 1 << 32),
    name=st.sampled_from(list(GROUPS)),
    oddness=st.sampled_from([0, 0.02, 0.2, 1]),
    count=st.sampled_from([1, 2, 150, 400]),
    chunks=st.sampled_from([1, 3]),
)
def test_a_range_means_what_its_messages_mean_one_by_one(
    seed: int, name: str, oddness: float, count: int, chunks: int
) -> None:
    draw = random.Random(seed)
    _agree(GROUPS[name], [message(draw, GROUPS[name], oddness) for _ in range(count)], chunks)


WRITTEN = {
    "caller": '"c1"',
    "seconds": "7",
    "rate": "0.5",
    "free": "true",
    "at": '"2026-01-01T00:00:00Z"',
    "day": '"2026-01-01"',
    "amount": '"1.25"',
}


def _body(**instead: str) -> bytes:
    return ("{" + ",".join(f'"{name}":{text}' for name, text in {**WRITTEN, **instead}.items()) + "}").encode()


KINDS = {each.name: each.type.kind for each in GROUPS["wide"].chronicles["calls"].schema.columns}


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("group", ["wide", "strict", "nullable"])
@pytest.mark.parametrize("field", list(WRITTEN))
def test_every_text_of_a_value_is_read_alike_alone_and_among_right_ones(field: str, group: str) -> None:
    kind: Kind = KINDS[field]
    for text in (*RIGHT[kind], *RARE[kind]):
        odd: Message = ((), _body(**{field: text}))
        right: list[Message] = [((), _body())] * 5
        _agree(GROUPS[group], [odd])
        _agree(GROUPS[group], [*right, odd, *right])


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("group", ["wide", "strict", "nullable", "two"])
def test_junk_is_refused_for_the_same_reason_alone_and_among_right_messages(group: str) -> None:
    headers = (("chronicle", b"payments"),) if group == "two" else ()
    for junk in JUNK:
        _agree(GROUPS[group], [(headers, junk)])
        _agree(GROUPS[group], [(headers, _body()), (headers, junk), (headers, _body())])


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("field", [*WRITTEN, "x", "_chronicle"])
def test_a_field_that_is_there_twice_is_never_accepted(field: str) -> None:
    text = WRITTEN.get(field, '"calls"')
    twice = _body(**{field: text})[:-1] + f',"{field}":{text}}}'.encode()
    for name in ("wide", "nullable"):
        decoded = decode_range(GROUPS[name], Decoder(GROUPS[name]), table_of_messages([((), twice), ((), _body())]))
        assert list(decoded.malformed) == [0]
        assert "twice" in decoded.malformed[0]


@pytest.mark.usefixtures("_few")
def test_one_object_cut_in_two_messages_is_two_malformed_messages() -> None:
    whole = _body()
    for at in range(1, len(whole)):
        _agree(GROUPS["wide"], [((), whole[:at]), ((), whole[at:]), ((), whole)])


@pytest.mark.usefixtures("_few")
def test_two_objects_in_one_message_are_malformed_even_where_the_next_message_has_none() -> None:
    pair = _body() + _body()
    for none in (b"{}", b"{\x00}", b"{}\x00}", b"", b" "):
        _agree(GROUPS["nullable"], [((), pair), ((), none), ((), _body())])


def test_no_messages_decode_to_nothing() -> None:
    _agree(GROUPS["two"], [])
