"""Record batches decoded in bulk, held to kafka-python's own encoder and decoder."""

from __future__ import annotations

import gzip
import struct

import crc32c
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import CorruptRecordError
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from chronicle.kafka.records import TELLING, Messages, read_messages, table_of

Header = tuple[str, bytes | None]
Record = tuple[int, bytes | None, bytes | None, list[Header]]
Found = list[tuple[int, int, bytes | None, list[Header] | None]]

NOON_MS = 1_772_366_400_000
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

bodies = st.none() | st.binary(max_size=300) | st.integers(0, 20_000).map(bytes)
names = st.sampled_from(["chronicle", "ce_type", "content-type", "traceparent", "ß"])
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=8)), max_size=3)
records = st.tuples(st.integers(NOON_MS, NOON_MS + 10**6), st.none() | st.binary(max_size=9), bodies, headers)


def batch(base: int, given: list[Record], *, leave_out: frozenset[int] = frozenset()) -> bytes:
    """As kafka-python's producer writes it, and as a broker gives it a place; some records may be compacted away."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for place, (instant, key, value, pairs) in enumerate(given):
        if place not in leave_out:
            builder.append(place, instant, key, value, pairs)
    built = bytearray(builder.build())
    struct.pack_into(">q", built, 0, base)
    struct.pack_into(">i", built, 23, len(given) - 1)  # a broker keeps the last offset of what it compacts
    return checked(built)


def checked(built: bytearray) -> bytes:
    struct.pack_into(">I", built, 17, crc32c.crc32c(bytes(built[21:])))
    return bytes(built)


def with_attributes(built: bytes, attributes: int, producer: int = -1) -> bytes:
    changed = bytearray(built)
    struct.pack_into(">h", changed, 21, attributes)
    struct.pack_into(">q", changed, 43, producer)
    return checked(changed)


def compressed(built: bytes, codec: int, body: bytes) -> bytes:
    changed = bytearray(built[:61]) + body
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    return with_attributes(bytes(changed), codec)


def marker(base: int, producer: int, *, commit: bool) -> bytes:
    return with_attributes(
        batch(base, [(NOON_MS, struct.pack(">hh", 0, int(commit)), b"\0" * 6, [])]), TRANSACTIONAL | CONTROL, producer
    )


def rows(found: Messages) -> Found:
    table = table_of([found])
    pairs = [told and [(each["key"], each["value"]) for each in told] for told in table.column("headers").to_pylist()]
    return list(zip(*(table.column(name).to_pylist() for name in ("offset", "timestamp", "value")), pairs, strict=True))


def told(pairs: list[Header]) -> list[Header] | None:
    return [pair for pair in pairs if pair[0] in TELLING] or None


def by_kafka_python(answer: bytes) -> Found:
    found: Found = []
    while answer:
        (length,) = struct.unpack_from(">i", answer, 8)
        one, answer = answer[: 12 + length], answer[12 + length :]
        found += [
            (each.offset, each.timestamp * 1000, each.value, told(each.headers)) for each in DefaultRecordBatch(one)
        ]
    return found


@given(batches=st.lists(st.tuples(st.lists(records, min_size=1, max_size=70), st.integers(0, 3)), max_size=4))
def test_every_field_is_what_kafka_python_reads(batches: list[tuple[list[Record], int]]) -> None:
    answer, base = b"", 2**40
    for given_records, gap in batches:
        answer += batch(base, given_records)
        base += len(given_records) + gap
    found = read_messages(answer, 0, 2**60)
    assert rows(found) == by_kafka_python(answer)
    assert found.next_offset == (0 if not batches else base - batches[-1][1])


@given(
    given_records=st.lists(records, min_size=1, max_size=40), cuts=st.tuples(st.integers(0, 50), st.integers(0, 50)),
    gone=st.frozensets(st.integers(0, 40)),
)  # fmt: skip
def test_only_the_range_is_read_of_a_compacted_batch(
    given_records: list[Record], cuts: tuple[int, int], gone: frozenset[int]
) -> None:
    start, end = sorted(cuts)
    answer = batch(0, given_records, leave_out=gone)
    found = read_messages(answer, start, end)
    assert rows(found) == [row for row in by_kafka_python(answer) if start <= row[0] < end]
    assert found.next_offset == (max(start, min(end, len(given_records))) if end > 0 else start)


@given(given_records=st.lists(records, min_size=1, max_size=20), cut=st.integers(1, 60))
def test_a_batch_that_was_cut_off_is_left_for_the_next_answer(given_records: list[Record], cut: int) -> None:
    whole, rest = batch(0, given_records), batch(len(given_records), given_records)
    found = read_messages(whole + rest[:-cut], 0, 2**60)
    assert rows(found) == by_kafka_python(whole)
    assert found.next_offset == len(given_records)


def java_snappy(body: bytes) -> bytes:
    """Blocks as Java's producer writes them."""
    blocks = [pa.compress(body[at : at + 100], "snappy", asbytes=True) for at in range(0, len(body), 100)]
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def streamed(body: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(body)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("codec", "squeeze"),
    [
        (GZIP, gzip.compress),
        (SNAPPY, java_snappy),
        (SNAPPY, lambda body: pa.compress(body, "snappy", asbytes=True)),
        (LZ4, lambda body: streamed(body, "lz4")),
        (ZSTD, lambda body: streamed(body, "zstd")),
    ],
    ids=["gzip", "snappy of Java", "snappy of others", "lz4", "zstd"],
)
def test_compressed_batches_are_read_between_plain_ones(codec, squeeze) -> None:  # type: ignore[no-untyped-def]
    some: list[Record] = [(NOON_MS + at, None, b"message %d" % at, []) for at in range(50)]
    plain = [batch(base, some) for base in (0, 50, 100)]
    answer = plain[0] + compressed(plain[1], codec, squeeze(plain[1][61:])) + plain[2]
    assert rows(read_messages(answer, 0, 150)) == by_kafka_python(b"".join(plain))


def test_aborted_transactions_and_markers_are_passed_over_and_consumed() -> None:
    def of(producer: int, base: int, value: bytes) -> bytes:
        return with_attributes(batch(base, [(NOON_MS, None, value, [])]), TRANSACTIONAL, producer)

    answer = b"".join(
        [
            of(1, 0, b"aborted"),
            of(2, 1, b"committed"),
            batch(2, [(NOON_MS, None, b"no transaction", [])]),
            marker(3, 1, commit=False),
            of(1, 4, b"committed later"),
            marker(5, 2, commit=True),
            of(2, 6, b"aborted too"),
            marker(7, 1, commit=True),
            marker(8, 2, commit=False),
        ]
    )
    found = read_messages(answer, 0, 100, aborted=[(2, 6), (1, 0)])
    assert [row[2] for row in rows(found)] == [b"committed", b"no transaction", b"committed later"]
    assert found.next_offset == 9


def test_the_brokers_time_is_taken_where_it_is_the_brokers() -> None:
    some: list[Record] = [(NOON_MS + at, None, b"", []) for at in range(3)]
    stamped = bytearray(with_attributes(batch(0, some), LOG_APPEND_TIME))
    struct.pack_into(">q", stamped, 35, NOON_MS + 777)
    found = read_messages(checked(stamped), 0, 3)
    assert [row[1] for row in rows(found)] == [(NOON_MS + 777) * 1000] * 3


def test_a_producers_impossible_clock_is_an_instant_all_the_same() -> None:
    found = read_messages(batch(0, [(2**62, None, b"", [])]) + batch(1, [(-(2**62), None, b"", [])]), 0, 2)
    assert [row[1] for row in rows(found)] == [253_402_300_799_999_000, -62_135_596_800_000_000]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_the_old_formats_are_read(magic: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for place in range(3):
        builder.append(place, timestamp=NOON_MS, key=None, value=b"old %d" % place)
    found = read_messages(bytes(builder.build()) + batch(3, [(NOON_MS, None, b"new", [])]), 1, 4)
    assert [(row[0], row[2]) for row in rows(found)] == [(1, b"old 1"), (2, b"old 2"), (3, b"new")]
    assert rows(found)[0][1] == (NOON_MS * 1000 if magic else -1000)


@given(given_records=st.lists(records, min_size=1, max_size=5), data=st.data())
def test_damage_is_refused_and_never_read(given_records: list[Record], data: st.DataObject) -> None:
    whole = bytearray(batch(0, given_records))
    whole[data.draw(st.integers(21, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptRecordError, match="checksum"):
        read_messages(bytes(whole), 0, 100)


@given(given_records=st.lists(records, min_size=1, max_size=5), data=st.data())
def test_records_that_contradict_their_batch_are_refused_or_read_and_nothing_else(
    given_records: list[Record], data: st.DataObject
) -> None:
    """With a checksum that is right, so that only the records themselves are wrong."""
    whole = bytearray(batch(0, given_records))
    whole[data.draw(st.integers(57, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = read_messages(checked(whole), 0, 100)
        rows(found)
    except CorruptRecordError:
        return
    assert len(found.offsets) <= len(given_records)
