"""Appending into Kafka from the command line, and the topics of a definition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition

from chronicle.appends import parse_token
from chronicle.cli.main import run

pytestmark = pytest.mark.kafka

DEFINITION = """
chronicle: 1
name: telecom
source: {{kafka: {{servers: "{servers}", topics: [{topic}]}}}}
chronicles:
  calls: {{columns: {{caller: string, seconds: int64}}}}
relations:
  customers: {{key: number, columns: {{number: string, state: string}}}}
"""


def defined(servers: str, topic: str) -> None:
    Path("chronicle.yaml").write_text(DEFINITION.format(servers=servers, topic=topic))


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_token_names_the_message_that_was_appended_last(
    kafka_servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    defined(kafka_servers, "tokens")
    assert run(["topics", "create", "--partitions", "3"]) == 0
    lines = [f'{{"caller": "c{number}", "seconds": {number}}}' for number in range(50)] + ["bad"]
    Path("calls.jsonl").write_text("\n".join(lines))
    capsys.readouterr()
    assert run(["append", "calls", "calls.jsonl"]) == 0
    said = capsys.readouterr()
    token = parse_token(said.out.strip())
    assert token.topic == "tokens"
    assert "calls.jsonl:51: the body is not JSON" in said.err
    consumer = KafkaConsumer(bootstrap_servers=kafka_servers, consumer_timeout_ms=20_000)
    partition = TopicPartition("tokens", token.partition)
    consumer.assign([partition])
    consumer.seek(partition, token.offset)
    message = next(consumer)
    consumer.close()
    assert (message.value, message.headers) == (b"bad", [("chronicle", b"calls")])


def test_topics_are_made_once_and_listed_with_their_offsets(
    kafka_servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    defined(kafka_servers, "listed")
    run(["topics", "list", "--json"])
    assert json.loads(capsys.readouterr().out) == {"topics": {"listed": None}}
    for created in (["listed"], []):
        assert run(["topics", "create", "--partitions", "2", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"created": created, "topics": ["listed"]}
    changes = '{"number": "c1", "state": "NJ"}\n' * 3
    Path("changes.jsonl").write_text(changes)
    assert run(["upsert", "customers", "changes.jsonl"]) == 0
    token = parse_token(capsys.readouterr().out.strip())
    assert token.offset == 2  # one partition has them all, in order
    run(["topics", "list", "--json"])
    partitions = json.loads(capsys.readouterr().out)["topics"]["listed"]
    assert partitions[str(token.partition)] == {"earliest": 0, "next": 3}
    assert len(partitions) == 2


def test_a_journal_has_no_topics(capsys: pytest.CaptureFixture[str]) -> None:
    Path("chronicle.yaml").write_text("chronicle: 1\nname: g\nchronicles: {calls: {columns: {n: int64}}}\n")
    assert run(["topics", "list"]) == 2
    assert "is a journal" in capsys.readouterr().err
