"""Tokens name appends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.appends import Token, journal_token, parse_token
from chronicle.errors import UsageError

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)


@given(TOPICS, st.integers(0, 999), st.integers(0, (1 << 62)))
def test_a_token_reads_back_as_it_was_written(topic: str, partition: int, offset: int) -> None:
    for token in (Token(topic, partition, offset), journal_token(offset)):
        assert parse_token(str(token)) == token


@pytest.mark.parametrize("text", ["", "812", "journal:", "journal:-1", "calls:1", "calls-0:x", "calls-0:1 "])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a token"):
        parse_token(text)
