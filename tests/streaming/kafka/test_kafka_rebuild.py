"""Views built anew from retained topics: one that came later, and those of a relation that was corrected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka_jobs import TOTALS, Message, admin_of, call, drain, fates, make_topics, project_on, rows, send
from pyspark.sql import SparkSession

from chronicle.project import Project

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

MONTHLY = {**TOTALS, "period": {"calendar": "month", "grace": "P1D"}}
STATES = {**TOTALS, "join": {"customers": "caller = number"}, "group_by": "customers.state"}
STORES = pytest.mark.parametrize("store", ["embedded", "delta"])


def group_on(directory: Path, servers: str, topic: str, retroactive: str = "reject", **views: Any) -> Project:
    relation = {"key": "number", "columns": {"number": "string", "state": "string"}, "retroactive": retroactive}
    own = {"kafka": {"topic": f"{topic}.crm"}}
    return project_on(
        directory,
        servers,
        [topic],
        relations={"customers": {**relation, "source": own}},
        calendars={"month": {"every": "P1M"}},
        views=views,
    )


def customer(number: str, state: str, since: str = "2026-01-01T00:00:00Z") -> bytes:
    return json.dumps({"number": number, "state": state, "_from": since}).encode()


@STORES
def test_a_view_added_to_a_state_with_history_is_as_if_it_had_always_been_there(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, store: str
) -> None:
    crm = f"{topic}.crm"
    make_topics(kafka_servers, **{topic: 2, crm: 1})
    project = group_on(tmp_path / "grown", kafka_servers, topic, totals=TOTALS)
    first: list[Message] = [(crm, 0, customer(f"c{n}", "NJ"), ()) for n in range(3)]
    first += [(topic, n % 2, call(f"c{n % 3}", n, f"2026-03-{1 + n:02}T10:00:00Z"), ()) for n in range(12)]
    send(kafka_servers, first)
    drain(spark, project, store)
    moved, late = customer("c0", "PA", "2026-03-12T11:00:00Z"), call("c1", at="2026-01-01T00:00:00Z")
    send(
        kafka_servers,
        [(crm, 0, moved, ()), (topic, 1, late, ()), (topic, 0, call("c0", 5, "2026-03-13T10:00:00Z"), ())],
    )
    drain(spark, project, store)
    grown = group_on(tmp_path / "grown", kafka_servers, topic, totals=TOTALS, monthly=MONTHLY, states=STATES)
    send(kafka_servers, [(topic, 0, call("c0", 100, "2026-03-14T10:00:00Z"), ())])
    drain(spark, grown, store)
    assert rows(grown, "totals") == {("c0",): (6, 123), ("c1",): (5, 23), ("c2",): (4, 26)}
    assert rows(grown, "monthly") == {("c0",): (6, 123), ("c1",): (4, 22), ("c2",): (4, 26)}
    assert rows(grown, "states") == {("NJ",): (13, 67), ("PA",): (2, 105)}


@STORES
def test_a_change_from_the_past_repairs_the_views_of_a_relation_that_may_be_corrected(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path, store: str
) -> None:
    crm = f"{topic}.crm"
    make_topics(kafka_servers, **{topic: 2, crm: 1})
    project = group_on(tmp_path, kafka_servers, topic, "correct", states=STATES, totals=TOTALS)
    send(kafka_servers, [(crm, 0, customer("c", "NJ"), ()), *((topic, n % 2, call("c", n), ()) for n in range(4))])
    drain(spark, project, store)
    assert rows(project, "states") == {("NJ",): (4, 6)}
    beside = json.dumps({"customers": [json.loads(customer("d", "NY"))]}).encode()
    past = customer("c", "PA", "2026-02-01T00:00:00Z")
    send(
        kafka_servers,
        [(crm, 0, past, ()), (topic, 0, call("c", 10), ()), (topic, 1, beside, ()), (topic, 0, call("d"), ())],
    )
    drain(spark, project, store)
    assert rows(project, "states") == {("PA",): (5, 16), ("NY",): (1, 1)}
    assert fates(project) == {"applied": 9}


def test_without_its_first_appends_a_new_view_counts_from_now_and_a_correction_is_retroactive(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    crm = f"{topic}.crm"
    make_topics(kafka_servers, **{topic: 1, crm: 1})
    project = group_on(tmp_path, kafka_servers, topic, "correct", states=STATES)
    send(kafka_servers, [(crm, 0, customer("c", "NJ"), ()), *((topic, 0, call("c", n), ()) for n in range(4))])
    drain(spark, project)
    with admin_of(kafka_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 2})
    grown = group_on(tmp_path, kafka_servers, topic, "correct", states=STATES, totals=TOTALS)
    send(kafka_servers, [(crm, 0, customer("c", "PA"), ()), (topic, 0, call("c", 10), ())])
    drain(spark, grown)
    assert fates(grown) == {"applied": 6, "retroactive": 1}
    assert rows(grown, "states") == {("NJ",): (5, 16)}
    assert rows(grown, "totals") == {("c",): (1, 10)}
