"""Headers as the map gets them: distinct ones once, and only those that say what a message is."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from streaming.kafka_messages import distinct_headers
from streaming.kafka_source import telling_headers

pytestmark = pytest.mark.spark

Pairs = list[tuple[str, bytes | None]]

MESSAGES: list[Pairs | None] = [
    None,
    [],
    [("chronicle", b"calls")],
    [("ce_id", b"1"), ("ce_type", b"calls"), ("traceparent", b"00")],
    [("ce_id", b"2"), ("ce_type", b"calls")],
    [("traceparent", b"00")],
    [("chronicle", None)],
    [("chronicle", b"")],
    [("chronicle", b"\xff\x00")],
    [("chronicle", b"calls"), ("content-type", b"application/json"), ("chronicle", b"payments")],
    [("content-type", b"application/json"), ("chronicle", b"calls")],
    [("chronicle", b"calls")],
]


def test_each_message_keeps_the_headers_that_tell_in_their_order_and_distinct_ones_are_kept_once(
    spark: SparkSession,
) -> None:
    rows = [(number, pairs) for number, pairs in enumerate(MESSAGES)]
    frame = spark.createDataFrame(rows, "number int, headers array<struct<key: string, value: binary>>")
    read = frame.coalesce(1).select("number", telling_headers(col("headers")).alias("headers")).toArrow()
    encoded = distinct_headers(read.sort_by("number").column("headers"))
    telling = {"chronicle", "ce_type", "ce-type", "content-type"}
    kept = [[pair for pair in pairs or [] if pair[0] in telling] or None for pairs in MESSAGES]
    found = [pairs and [(pair["key"], pair["value"]) for pair in pairs] for pairs in encoded.to_pylist()]
    assert found == kept
    assert len(encoded.dictionary) == len({tuple(pairs) for pairs in kept if pairs})
