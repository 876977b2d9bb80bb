"""Appends over HTTP into topics: answered with a token of the broker, and waited for by a lookup that names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kafka_jobs import call, drain, fates, make_topics, project_on
from pyspark.sql import SparkSession

from chronicle.appends import parse_token
from tests.views.http.http_cases import problem_of, served_project

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_what_is_posted_is_in_the_topic_and_a_lookup_after_its_token_has_it(
    spark: SparkSession, kafka_servers: str, topic: str, tmp_path: Path
) -> None:
    project = project_on(tmp_path, kafka_servers, [topic])
    make_topics(kafka_servers, **{topic: 2})
    with served_project(project) as http:
        batch = [json.loads(call("c", seconds)) for seconds in (1, 2, 3)]
        answer = http.post("/v1/chronicles/calls", json=batch)
        token = parse_token(answer.json()["token"])
        assert token.topic == topic
        refused = http.post("/v1/chronicles/calls", json=[*batch, {"caller": "c"}])
        assert "append 3" in problem_of(refused, 422)["detail"]
        drain(spark, project)
        found = http.get("/v1/views/totals", params={"caller": "c", "after": str(token), "wait": "10s"})
        assert found.json()["values"] == {"calls": 3, "seconds": 6}
        ahead = f"{topic}-{token.partition}:{token.offset + 1000}"
        assert http.get("/v1/views/totals", params={"caller": "c", "after": ahead, "wait": "0s"}).status_code == 503
    assert fates(project) == {"applied": 3}
