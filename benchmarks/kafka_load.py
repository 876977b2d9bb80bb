"""`python -m benchmarks.kafka_load SERVERS TOPIC FILE...`: JSON lines into a topic, unchecked and fast, for benchmarks.

`chronicle append` decodes every line before it sends it; this does not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kafka import KafkaProducer

from chronicle.kafka.bulk import send_in_bulk

CHUNK = 100_000
"""Lines that are sent at once."""


def produce(servers: str, topic: str, files: list[Path]) -> tuple[int, float]:
    """Sends every line of the files, in turn to all partitions; how many there were, and the seconds it took."""
    producer = KafkaProducer(bootstrap_servers=servers, enable_idempotence=True, acks="all")
    count, begin = 0, time.perf_counter()
    for lines in _chunks(files):
        send_in_bulk(producer, topic, lines, ())
        count += len(lines)
    seconds = time.perf_counter() - begin
    producer.close()
    return count, seconds


def _chunks(files: list[Path]) -> Iterator[list[bytes]]:
    for path in files:
        lines = path.read_bytes().splitlines()
        for begin in range(0, len(lines), CHUNK):
            yield lines[begin : begin + CHUNK]


if __name__ == "__main__":
    sent, took = produce(sys.argv[1], sys.argv[2], [Path(name) for name in sys.argv[3:]])
    print(f"{sent:,} messages in {took:.1f} s: {sent / took:,.0f} a second")
