"""`chronicle recompute` over real topics: what agrees with what the job made of them, and what cannot be compared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka_jobs import TOTALS, Message, admin_of, call, drain, fates, make_topics, opened, project_on, rows, send
from pyspark.sql import SparkSession

from chronicle.cli.main import run as chronicle
from chronicle.project import Project

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Ask = Callable[..., dict[str, Any]]


def group_on(directory: Path, servers: str, topic: str) -> Project:
    """Calls, and customers in a topic of their own."""
    parts = {
        "relations": {
            "customers": {
                "key": "number",
                "columns": {"number": "string", "state": "string"},
                "source": {"kafka": {"topic": f"{topic}.crm"}},
            }
        },
        "calendars": {"month": {"every": "P1M"}},
        "views": {
            "totals": TOTALS,
            "monthly": {**TOTALS, "period": {"calendar": "month", "grace": "P1D"}},
            "states": {**TOTALS, "join": {"customers": "caller = number"}, "group_by": "customers.state"},
        },
    }
    return project_on(directory, servers, [topic], **parts)


def customer(number: str, state: str, since: str = "2026-01-01T00:00:00Z") -> bytes:
    return json.dumps({"number": number, "state": state, "_from": since}).encode()


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        code = chronicle(["recompute", "-f", str(tmp_path / "chronicle.yaml"), "--json", *arguments])
        out, error = capsys.readouterr()
        return {"code": code, "error": error, **(json.loads(out) if out else {})}

    return asked


def test_changes_that_wait_are_known_to_the_tuples_that_wait_and_all_of_it_agrees_with_the_batch(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    make_topics(kafka_servers, **{topic: 2, f"{topic}.crm": 1})
    project, crm = group_on(tmp_path, kafka_servers, topic), f"{topic}.crm"
    messages: list[Message] = [(crm, 0, customer(f"c{n}", "NJ" if n % 2 else "NY"), ()) for n in range(4)]
    messages += [(topic, n % 2, call(f"c{n % 5}", n, f"2026-03-{1 + n:02}T10:00:00Z"), ()) for n in range(20)]
    send(kafka_servers, messages)
    drain(spark, project)
    with admin_of(kafka_servers) as admin:
        admin.create_partitions({topic: 3})
    moved = [(crm, 0, customer("c1", "PA", "2026-04-01T00:00:00Z"), ()), (crm, 0, customer("c2", "PA"), ())]
    late = [(topic, 2, call("c1", 7, "2026-02-01T00:00:00Z"), ()), (topic, 0, b"{", ())]
    send(kafka_servers, [*moved, *late, (topic, 2, call("c1", 9, "2026-04-02T00:00:00Z"), ())])
    drain(spark, project)
    found = ask()
    assert found["code"] == 0, found
    assert {name: view["rows"] for name, view in found["views"].items()} == {"totals": 5, "monthly": 6, "states": 3}
    assert found["appends"] == 29
    assert found["fates"] == {}


def test_appends_that_retention_took_are_named_and_nothing_is_compared(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    make_topics(kafka_servers, **{topic: 2, f"{topic}.crm": 1})
    project = group_on(tmp_path, kafka_servers, topic)
    send(kafka_servers, [(topic, 1, call("c"), ())] * 6)
    drain(spark, project)
    with admin_of(kafka_servers) as admin:
        admin.delete_records({TopicPartition(topic, 1): 4})
    found = ask()
    assert found["code"] == 1
    assert f"{topic}-1: offsets 0 to 3" in found["error"]


def test_a_relations_topic_that_forgot_changes_keeps_only_its_views_from_being_compared(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    make_topics(kafka_servers, **{topic: 2, f"{topic}.crm": 1})
    project, crm = group_on(tmp_path, kafka_servers, topic), f"{topic}.crm"
    send(kafka_servers, [*((crm, 0, customer(f"c{n}", "NJ"), ()) for n in range(3)), (topic, 0, call("c1"), ())])
    drain(spark, project)
    with admin_of(kafka_servers) as admin:
        admin.delete_records({TopicPartition(crm, 0): 2})
    found = ask()
    assert found["code"] == 1
    assert f"{crm}-0: offsets 0 to 1 are no longer retained" in found["views"]["states"]["skipped"]
    assert found["views"]["totals"]["agrees"]
    assert found["views"]["monthly"]["agrees"]


def test_a_change_beside_tuples_of_another_partition_is_said_and_not_compared(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    make_topics(kafka_servers, **{topic: 2, f"{topic}.crm": 1})
    project = group_on(tmp_path, kafka_servers, topic)
    beside = json.dumps({"customers": [json.loads(customer("c1", "NJ"))]}).encode()
    send(kafka_servers, [(topic, 0, beside, ()), (topic, 1, call("c1"), ())])
    drain(spark, project)
    found = ask()
    assert (
        "1 changes of customers came in epochs in which other slots had tuples" in found["views"]["states"]["skipped"]
    )
    assert found["views"]["totals"]["agrees"]


def test_gaps_of_transactions_are_no_missing_appends_and_a_state_that_lost_its_cuts_says_so(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    make_topics(kafka_servers, **{topic: 2, f"{topic}.crm": 1})
    project = group_on(tmp_path, kafka_servers, topic)
    producer = KafkaProducer(bootstrap_servers=kafka_servers, transactional_id=topic)
    producer.init_transactions()
    for caller, end in (("kept", "commit"), ("dropped", "abort"), ("kept", "commit")):
        producer.begin_transaction()
        producer.send(topic, value=call(caller), partition=0)
        producer.flush()
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    producer.close()
    drain(spark, project)
    assert ask()["code"] == 0
    (tmp_path / ".chronicle" / "cuts.jsonl").unlink()
    assert "cuts.jsonl is gone" in ask()["error"]


COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


def test_what_compaction_took_is_a_gap_to_a_job_that_comes_later_and_missing_to_one_that_had_seen_it(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, ask: Ask
) -> None:
    crm = f"{topic}.crm"
    make_topics(kafka_servers, {"segment.bytes": "4000"}, **{topic: 1, crm: 1})
    project = group_on(tmp_path, kafka_servers, topic)
    changes = [customer(f"c{n % 3}", "NJ", f"2026-01-01T00:{n:02}:00Z") for n in range(40)]
    file, definition = str(tmp_path / "customers.jsonl"), str(tmp_path / "chronicle.yaml")
    for part in (changes[:20], changes[20:]):  # each a segment: the last one is never compacted
        Path(file).write_bytes(b"\n".join(part))
        assert chronicle(["upsert", "customers", file, "-f", definition]) == 0
    send(kafka_servers, [(topic, 0, call("c1"), ())])
    drain(spark, project)
    assert fates(project) == {"applied": 41}
    with admin_of(kafka_servers) as admin:
        admin.alter_configs([ConfigResource("TOPIC", crm, COMPACTED)])
    left = compacted(kafka_servers, crm, fewer_than=40)
    found = ask()
    assert f"{40 - left} messages of {crm} are gone" in found["views"]["states"]["skipped"]
    assert found["views"]["totals"]["agrees"]
    later = group_on(tmp_path / "later", kafka_servers, topic)
    drain(spark, later)
    assert fates(later) == {"applied": left + 1}
    assert rows(later, "states") == {("NJ",): (1, 1)}
    assert opened(later).state.shard(0).standing().slots[1].next_offset == 40


def compacted(servers: str, topic: str, fewer_than: int) -> int:
    """How many messages the topic holds, once these are fewer and stay as they are."""
    place = TopicPartition(topic, 0)
    consumer, before = KafkaConsumer(bootstrap_servers=servers), fewer_than
    try:
        consumer.assign([place])
        while True:
            consumer.seek_to_beginning(place)
            left = 0
            while consumer.position(place) < consumer.end_offsets([place])[place]:
                left += len(consumer.poll(500).get(place, ()))
            if left == before < fewer_than:
                return left
            before = left
            time.sleep(1.5)
    finally:
        consumer.close()
