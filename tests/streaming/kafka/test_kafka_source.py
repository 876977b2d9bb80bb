"""The job over real topics: what messages become, which of them are read, and where each slot stands after."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from generators import scenarios
from generators.kernels import assert_same
from generators.spreading import Spread, spreads
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kafka import KafkaProducer
from kafka_jobs import (
    CALLS,
    TOTALS,
    admin_of,
    call,
    drain,
    fates,
    kafka_job,
    make_topics,
    opened,
    project_on,
    rows,
    send,
    send_records,
)
from pyspark.sql import SparkSession

import streaming.epochs
from chronicle.cli.main import run as chronicle
from chronicle.project import Project
from streaming.planning import next_plan
from tests.brokers import SecuredCluster
from views.lookup import connect
from views.reference import Record, evaluate
from views.state import Slot

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

NOON = 1_772_366_400_000_000
"""2026-03-01T12:00:00Z"""


def run_epochs(spark: SparkSession, project: Project, slots: list[Slot], spread: Spread) -> None:
    """Runs the spread's epochs, whose records are in the topics."""
    with kafka_job(spark, project) as job:
        ends: dict[Slot, int] = {}
        assert list(job.state.meta.slots) == slots
        for records in spread.epochs:
            ends |= {slots[record.slot]: record.offset + 1 for record in records}
            epoch = next_plan(job.state.meta, job.standing(), {}, ends, means=job.means)
            job.state.epochs.write(epoch)
            job.runner.run(epoch)


def assert_reference(project: Project, spread: Spread) -> None:
    views = connect(project)
    try:
        assert_same(views, evaluate(project.definition, project.check().admitted, spread.records, spread.cuts))
    finally:
        views.state.close()


@pytest.mark.parametrize("small", [True, False], ids=["one task", "two stages"])
@settings(max_examples=4, phases=(Phase.generate,))  # a broker and Spark are too slow to shrink with
@given(data=st.data())
def test_random_groups_over_topics_and_partitions_are_the_reference(
    spark: SparkSession, kafka_servers: str, small: bool, data: st.DataObject
) -> None:
    scenario = data.draw(scenarios())
    spread = data.draw(spreads(scenario.records, slots=3))
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming.epochs, "SMALL", 20_000 if small else 0)
        one, two = (f"{Path(directory).name}-{end}" for end in ("a", "b"))
        parts = {name: part for name, part in scenario.definition.items() if name != "source"}
        project = project_on(Path(directory), kafka_servers, [one, two], **parts)
        make_topics(kafka_servers, **{one: 2, two: 1})
        slots = [Slot(one, 0), Slot(one, 1), Slot(two, 0)]
        send_records(kafka_servers, slots, spread.records)
        run_epochs(spark, project, slots, spread)
        assert_reference(project, spread)


FORMS: list[tuple[tuple[tuple[str, bytes], ...], bytes | None]] = [
    ((), json.dumps({"calls": [json.loads(call("env")), json.loads(call("env"))]}).encode()),
    ((("chronicle", b"calls"), ("traceparent", b"00-1")), call("header")),
    ((("chronicle", b"nowhere"),), call("header")),
    ((("ce_type", b"calls"), ("ce_id", b"1"), ("ce_specversion", b"1.0")), call("binary")),
    (
        (("content-type", b"application/cloudevents+json; charset=utf-8"),),
        b'{"specversion": "1.0", "type": "calls", "id": "7", "source": "s", "data": ' + call("structured") + b"}",
    ),
    ((), b'{"_chronicle": "calls", "caller": "field", "seconds": 2, "at": "2026-03-01T10:00:00Z"}'),
    ((), None),
    ((), b"not json"),
    ((("chronicle", b"calls"), ("chronicle", b"payments")), call("twice")),
]


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_every_form_of_message_means_what_it_means_to_the_reference(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, compression: str | None
) -> None:
    payments = {"columns": {"payer": "string", "at": "timestamp"}, "chronon": "at"}
    project = project_on(tmp_path, kafka_servers, [topic], chronicles={"calls": CALLS, "payments": payments})
    make_topics(kafka_servers, **{topic: 2})
    records = [Record(slot, 0, NOON, b"a key", (), b"{") for slot in (0, 1)]
    records += [
        Record(at % 2, 1 + at // 2, NOON, b"a key", headers, value) for at, (headers, value) in enumerate(FORMS)
    ]
    slots = [Slot(topic, 0), Slot(topic, 1)]
    send_records(kafka_servers, slots, records, compression_type=compression)
    spread = Spread((tuple(sorted(records, key=lambda each: each.slot)),))
    run_epochs(spark, project, slots, spread)
    assert_reference(project, spread)
    assert rows(project) == {
        ("env",): (2, 2),
        ("header",): (1, 1),
        ("binary",): (1, 1),
        ("structured",): (1, 1),
        ("field",): (1, 2),
    }


def test_only_committed_transactions_are_read_and_their_markers_are_passed(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 1})
    producer = KafkaProducer(bootstrap_servers=kafka_servers, transactional_id=topic)
    producer.init_transactions()
    for caller, end in (("kept", "commit"), ("dropped", "abort"), ("kept", "commit"), ("dropped", "abort")):
        producer.begin_transaction()
        producer.send(topic, value=call(caller), partition=0)
        producer.flush()  # or what is aborted would never have been there
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    producer.begin_transaction()
    producer.send(topic, value=call("open"), partition=0)
    producer.flush()
    drain(spark, project)
    assert rows(project) == {("kept",): (2, 2)}
    assert fates(project) == {"applied": 2}
    assert opened(project).state.shard(0).standing().slots[0].next_offset == 8
    producer.abort_transaction()
    producer.close()
    drain(spark, project)  # an aborted message and a marker: nothing to map, and yet consumed
    assert fates(project) == {"applied": 2}
    assert {s.slots[0].next_offset for s in opened(project).state.standings()} == {10}


def test_partitions_added_while_running_are_read_from_the_groups_clock_on(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    monthly = {**TOTALS, "period": {"calendar": "month"}}
    parts = {"calendars": {"month": {"every": "P1M"}}, "views": {"monthly": monthly}}
    project = project_on(tmp_path, kafka_servers, [topic], **parts)
    make_topics(kafka_servers, **{topic: 1})
    send(kafka_servers, [(topic, 0, call("c"), ())])
    drain(spark, project)
    with admin_of(kafka_servers) as admin:
        admin.create_partitions({topic: 3})
    late, in_time = call("c", at="2026-02-01T00:00:00Z"), call("c", at="2026-03-01T09:00:00Z")
    with kafka_job(spark, project) as job:
        until = {Slot(topic, 0): 1, Slot(topic, 1): 1, Slot(topic, 2): 1}
        send(kafka_servers, [(topic, 1, late, ()), (topic, 2, in_time, ())])
        job.drain(until)
        assert list(job.state.meta.slots) == list(until)
    assert fates(project) == {"applied": 2, "late": 1}
    assert rows(project, "monthly") == {("c",): (2, 2)}


def test_relations_come_from_their_own_topics_as_json_and_as_debezium(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    crm, accounts = f"{topic}.crm", f"{topic}.accounts"
    parts = {
        "relations": {
            "customers": {
                "key": "number",
                "columns": {"number": "string", "state": "string"},
                "source": {"kafka": {"topic": crm}},
            },
            "accounts": {
                "key": "id",
                "columns": {"id": "string", "plan": "string"},
                "source": {"kafka": {"topic": accounts, "format": "debezium"}},
            },
        },
        "views": {
            "states": {**TOTALS, "join": {"customers": "caller = number"}, "group_by": "customers.state"},
            "plans": {**TOTALS, "join": {"accounts": "caller = id"}, "group_by": "accounts.plan"},
        },
    }
    project = project_on(tmp_path, kafka_servers, [topic], **parts)
    make_topics(kafka_servers, **{topic: 1, crm: 2, accounts: 1})
    february = 1_769_904_000_000
    change = {"op": "c", "before": None, "after": {"id": "c1", "plan": "gold"}, "source": {"ts_ms": february}}
    gone = {"op": "d", "before": {"id": "c2", "plan": "gold"}, "after": None, "source": {"ts_ms": february + 1000}}
    send(
        kafka_servers,
        [
            (crm, 0, b'{"number": "c1", "state": "NJ", "_from": "2026-02-01T00:00:00Z"}', ()),
            (crm, 1, b'{"number": "c2", "state": "NY", "_from": "2026-02-01T00:00:00Z"}', ()),
            (crm, 1, b'{"number": "c2", "_op": "delete", "_from": "2026-02-02T00:00:00Z"}', ()),
            (crm, 0, None, ()),
            (crm, 0, call("c1"), (("chronicle", b"calls"),)),
            (accounts, 0, json.dumps(change).encode(), ()),
            (accounts, 0, json.dumps({**change, "after": {"id": "c2", "plan": "gold"}}).encode(), ()),
            (accounts, 0, json.dumps(gone).encode(), ()),
            (accounts, 0, None, ()),
            (accounts, 0, b'{"op": "x"}', ()),
        ],
    )
    drain(spark, project)
    send(kafka_servers, [(topic, 0, call("c1", 5), ()), (topic, 0, call("c2", 7), ())])
    drain(spark, project)
    assert rows(project, "states") == {("NJ",): (1, 5)}
    assert rows(project, "plans") == {("gold",): (1, 5)}
    assert fates(project) == {"applied": 10, "malformed": 2}


def test_lookups_reflect_a_token_of_a_topic_and_status_has_the_lag_over_tls(
    spark: SparkSession,
    kafka_secured: SecuredCluster,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = project_on(tmp_path, kafka_secured.servers, [topic], kafka_secured.options)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.jsonl").write_bytes(b"\n".join(call(f"c{n % 3}") for n in range(30)))
    assert chronicle(["topics", "create", "--partitions", "2"]) == 0
    capsys.readouterr()
    assert chronicle(["append", "calls", "calls.jsonl"]) == 0
    token = capsys.readouterr().out.strip()
    drain(spark, project)
    assert chronicle(["get", "totals", "caller=c1", "--after", token, "--wait", "1s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["values"] == {"calls": 10, "seconds": 10}
    assert sum(found["as_of"]["offsets"][topic].values()) == 30
    assert chronicle(["append", "calls", "calls.jsonl"]) == 0
    capsys.readouterr()
    assert chronicle(["status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["lag"] == 30
    assert sum(status["offsets"][topic].values()) == 30
