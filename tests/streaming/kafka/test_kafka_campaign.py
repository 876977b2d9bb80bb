"""The acceptance campaign: messages, broker restarts, partitions added and kills, and after them the reference's rows.

`make test-deep` takes 1,000,000 messages, 5 restarts and 20 kills in each store; run alone it is small. A Delta state
is also followed from its beginning into an index of its own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from generators.delta import assert_index
from generators.kernels import assert_same
from kafka_campaign import CALLS, CRM, Campaign, customers, expected
from kafka_jobs import make_topics, send

from chronicle.kafka.broker import Broker
from streaming.run import plan_of
from views.lookup import connect
from views.replica import Follower

sys.path.insert(0, str(Path(__file__).parents[1]))

from engine_cases import DEEP

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.deep]

MESSAGES = 1_000_000 if DEEP else 20_000
FAULTS = (5, 6, 14) if DEEP else (1, 1, 1)
"""Restarts of the broker, kills of the driver, kills of Python workers."""


@pytest.mark.timeout(7200 if DEEP else 900)
@pytest.mark.parametrize("store", ["embedded", "delta"])
def test_a_campaign_of_faults_over_a_real_broker_leaves_the_rows_and_the_ledger_of_the_reference(
    own_broker: Broker, tmp_path: Path, store: str
) -> None:
    began = time.monotonic()
    make_topics(own_broker.servers, {"message.timestamp.type": "LogAppendTime"}, **{CALLS: 2, CRM: 1})
    send(own_broker.servers, [(CRM, 0, customer, ()) for customer in customers()])
    campaign = Campaign.on(own_broker, tmp_path / "group", MESSAGES, *FAULTS)
    campaign.run("--store", store)
    print(f"{time.monotonic() - began:.0f} s of faults: {', '.join(campaign.told)}")
    views = connect(campaign.project)
    try:
        began = time.monotonic()
        reference = expected(views, own_broker.servers)
        print(f"{time.monotonic() - began:.0f} s for the reference")
        assert_same(views, reference)
        if store == "delta":
            follower = Follower(campaign.project.home, tmp_path / "index", plan_of(campaign.project))
            follower.catch_up()
            assert_index(campaign.project, follower.index, reference)
        epoch = views.state.shard(0).standing().epoch
        print(f"epoch {epoch}, {views.ledger(limit=0).fates}, rows {[len(rows) for rows in reference.rows.values()]}")
        assert sum(views.ledger(limit=0).fates.values()) > MESSAGES * 0.9
    finally:
        views.state.close()
