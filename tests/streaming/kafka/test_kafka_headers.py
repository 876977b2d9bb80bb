"""Headers as the map gets them: distinct ones once, and only those that say what a message is."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from chronicle.journal import HEADERS_TYPE
from streaming.kafka_messages import distinct_headers

_TELLING = {"chronicle", "ce_type", "ce-type", "content-type"}
_names = st.sampled_from(["chronicle", "ce_type", "content-type", "traceparent", "ce_id", ""])
_pair = st.fixed_dictionaries({"key": _names, "value": st.sampled_from([b"calls", b"", None, b"\xff"])})


@given(st.lists(st.none() | st.lists(_pair, max_size=4), max_size=20), st.integers(0, 3))
def test_each_message_keeps_the_headers_that_tell_in_their_order(
    messages: list[list[dict[str, object]] | None], skipped: int
) -> None:
    column = pa.array(messages, HEADERS_TYPE)[skipped:]
    encoded = distinct_headers(column)
    kept = [[pair for pair in pairs or [] if pair["key"] in _TELLING] or None for pairs in messages[skipped:]]
    assert encoded.to_pylist() == kept
    distinct = [tuple(map(str, pairs)) for pairs in encoded.dictionary.to_pylist()]
    assert len(distinct) == len(set(distinct))


def test_ids_that_differ_from_message_to_message_do_not_make_headers_distinct() -> None:
    messages = [[{"key": "ce_id", "value": b"%d" % n}, {"key": "ce_type", "value": b"calls"}] for n in range(1000)]
    assert len(distinct_headers(pa.array(messages, HEADERS_TYPE)).dictionary) == 1
