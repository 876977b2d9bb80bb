"""The secured path, and clusters that do not answer."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource

from chronicle.appends import parse_token
from chronicle.cli.main import run
from chronicle.kafka import target
from chronicle.kafka.broker import Broker
from tests.brokers import SecuredCluster

pytestmark = pytest.mark.kafka

IMPATIENT = {"default.api.timeout.ms": "1000"}


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def defined(servers: str, topic: str, options: dict[str, str] | None = None) -> None:
    columns: dict[str, Any] = {"calls": {"columns": {"caller": "string"}}}
    source = {"kafka": {"servers": servers, "topics": [topic], "options": options or {}}}
    own = {"key": "number", "columns": {"number": "string"}, "source": {"kafka": {"topic": f"{topic}.crm"}}}
    text = {"chronicle": 1, "name": "g", "source": source, "chronicles": columns, "relations": {"customers": own}}
    Path("chronicle.yaml").write_text(yaml.safe_dump(text))
    Path("calls.jsonl").write_text('{"caller": "c"}\n' * 500)


def test_appends_topics_and_lag_work_over_tls_with_a_login(
    kafka_secured: SecuredCluster, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    defined(kafka_secured.servers, topic, kafka_secured.options)
    assert run(["topics", "create", "--partitions", "2"]) == 0
    capsys.readouterr()
    assert run(["append", "calls", "calls.jsonl"]) == 0
    assert parse_token(capsys.readouterr().out.strip()).topic == topic
    assert run(["topics", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["topics"]
    assert sum(each["next"] for each in listed[topic].values()) == 500
    assert run(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lag"] == 500


def test_a_wrong_password_is_refused_and_never_printed(
    kafka_secured: SecuredCluster, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = kafka_secured.login("ann", "a-wrong-one")
    defined(wrong.servers, topic, {**wrong.options, **IMPATIENT})
    assert run(["append", "calls", "calls.jsonl"]) == 1
    said = capsys.readouterr()
    assert wrong.servers in said.err
    assert "a-wrong-one" not in said.out + said.err


@pytest.mark.parametrize("command", [["append", "calls", "calls.jsonl"], ["topics", "list"], ["topics", "create"]])
def test_a_cluster_that_is_away_is_a_failure_that_names_it(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    defined("127.0.0.1:1", "calls", IMPATIENT)
    assert run(command) == 1
    assert "Kafka at 127.0.0.1:1: Unable to bootstrap" in capsys.readouterr().err


def test_lag_is_unknown_while_the_cluster_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    defined("127.0.0.1:1", "calls", IMPATIENT)
    assert run(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lag"] is None


def test_topics_keep_messages_as_told_and_their_instant_is_the_brokers(kafka_servers: str, topic: str) -> None:
    defined(kafka_servers, topic)
    assert run(["topics", "create", "--retain", "P2D"]) == 0
    assert run(["topics", "create", "--retain", "two days"]) == 2
    admin = KafkaAdminClient(bootstrap_servers=kafka_servers)
    found = str(admin.describe_configs([ConfigResource("TOPIC", topic)]))
    admin.close()
    assert "LogAppendTime" in found
    assert str(2 * 86_400_000) in found


def test_changes_of_a_row_stay_in_order_in_one_partition_of_the_relations_topic(kafka_servers: str, topic: str) -> None:
    defined(kafka_servers, topic)
    assert run(["topics", "create", "--partitions", "4"]) == 0
    changes = [{"number": f"c{number % 5}", "_from": f"2026-03-01T00:00:{number:02d}Z"} for number in range(40)]
    Path("changes.jsonl").write_text("\n".join(map(json.dumps, changes)))
    assert run(["upsert", "customers", "changes.jsonl"]) == 0
    consumer = KafkaConsumer(bootstrap_servers=kafka_servers, consumer_timeout_ms=20_000)
    consumer.assign([TopicPartition(f"{topic}.crm", number) for number in range(4)])
    consumer.seek_to_beginning()
    found = [next(consumer) for _ in changes]
    consumer.close()
    for key in {message.key for message in found}:
        own = [message for message in found if message.key == key]
        assert len({message.partition for message in own}) == 1
        assert [json.loads(message.value)["_from"] for message in own] == sorted(
            json.loads(message.value)["_from"] for message in own
        )
    assert {message.key for message in found} == {b'["c%d"]' % number for number in range(5)}


@pytest.mark.slow
def test_an_append_waits_for_a_broker_that_restarts_and_arrives_once(own_broker: Broker) -> None:
    from chronicle.appends.target import open_target
    from chronicle.project import Project

    defined(own_broker.servers, "calls")
    assert run(["topics", "create", "--partitions", "1"]) == 0
    into = open_target(Project.load("chronicle.yaml"))
    assert isinstance(into, target.KafkaTarget)
    into.append("calls", [b'{"caller": "before"}'])
    own_broker.kill()
    back = threading.Thread(target=own_broker.start)
    back.start()
    token = into.append("calls", [b'{"caller": "after"}'] * 500)
    back.join()
    into.close()
    assert token.offset == 500
