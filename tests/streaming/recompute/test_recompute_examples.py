"""The papers' examples in Spark SQL, beside the reference (chronicle-data-model, Example 2.2, §5.1, §5.3)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from recomputing import answers

from calendars import parse_instant
from views.reference import Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from recomputing import Answers

pytestmark = pytest.mark.spark

GROUP = """
chronicle: 1
name: worked
chronicles:
  flights: {columns: {account: string, miles: int64, fare: "decimal(12,2)", at: timestamp}, chronon: at}
  fees: {columns: {payer: string, fee: "decimal(12,2)"}}
relations:
  customers:
    key: account
    columns: {account: string, state: string, zone: string?, since: timestamp?}
calendars:
  month: {every: P1M}
  moving30: {every: P1D, length: P30D}
  cycle: {every: P1M, anchor: customers.since, zone: customers.zone}
views:
  flown: {from: flights, group_by: account, select: {miles: sum(miles), each: avg(fare), last: last(miles)}}
  balance:
    from: flights
    join: {customers: flights.account = customers.account}
    group_by: flights.account
    select: {miles: "sum(miles + case when customers.state = 'NJ' then 500 else 0 end)"}
  bill:
    from: flights
    group_by: account
    select: {spend: sum(fare)}
    period: {calendar: month, grace: P1D}
    derive:
      discount: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      due: spend - discount
  booked_next:
    from: flights
    group_by: account
    select: {miles: sum(miles)}
    period: {calendar: month, late: next}
  moving: {from: flights, group_by: account, select: {miles: sum(miles)}, period: {calendar: moving30}}
  cycles:
    from: flights
    join: {customers: flights.account = customers.account}
    group_by: flights.account
    select: {miles: sum(miles)}
    period: {calendar: cycle}
  dear:
    sql: |
      SELECT flights.account, count(*) AS flights, sum(fees.fee) AS fees
      FROM flights JOIN fees USING (sn) WHERE fees.fee > 1 GROUP BY flights.account
  by_append:
    sql: |
      WITH each AS (
        SELECT sn, account, avg(miles) AS miles, avg(fare / 3) AS fare, approx_top_k(account, 1) AS top,
          approx_top_k(at, 1) AS moment, approx_quantile(miles, 0.5) AS middle, approx_distinct(fare) AS fares,
          first(fare) AS first_fare, stddev_pop(miles) AS spread
        FROM flights GROUP BY sn, account)
      SELECT account, sum(miles) AS miles, sum(fare) AS fare, max(top) AS top, max(moment) AS moment,
        max(middle) AS middle, sum(fares) AS fares, last(first_fare) AS last_fare, max(spread) AS spread
      FROM each GROUP BY account
  all_of_it: {from: flights, select: {flights: count(*), top: "approx_top_k(account, 2)"}}
"""


def _flight(day: str, miles: int, fare: str = "5.00", account: str = "a") -> dict[str, Any]:
    return {"account": account, "miles": miles, "fare": fare, "at": f"{day}T10:00:00Z"}


def _customer(state: str, on: str, **more: Any) -> dict[str, Any]:
    return {"customers": [{"account": "a", "state": state, "_from": f"{on}T00:00:00Z", **more}]}


MESSAGES: list[tuple[str, dict[str, Any] | bytes]] = [
    ("2026-01-01", _customer("NY", "2026-01-01", zone="America/New_York", since="2026-01-15T17:00:00Z")),
    ("2026-01-10", {"flights": [_flight("2026-01-10", 1000, "31.40")]}),  # in New York: no bonus
    ("2026-01-11", _customer("NJ", "2026-02-01", zone="America/New_York", since="2026-01-15T17:00:00Z")),
    ("2026-01-20", {"flights": [_flight("2026-01-20", 1000)]}),  # still in New York
    ("2026-02-01", {"flights": [_flight("2026-02-01", 1000, "10.01"), _flight("2026-02-01", 7, account="b")]}),
    ("2026-02-02", b'{"flights": [{"account": 7}]}'),  # malformed
    ("2026-02-02", _customer("PA", "2026-03-01", zone="Asia/Tokyo", since="2026-01-31T12:00:00Z")),
    ("2026-02-28", {"flights": [_flight("2026-02-28", 1000)], "fees": [{"payer": "x", "fee": "1.50"}]}),
    ("2026-03-05", {"flights": [_flight("2026-03-05", 1000)]}),  # Pennsylvania
    ("2026-03-06", {"flights": [_flight("2026-01-31", 250)]}),  # January is closed by now
    ("2026-03-06", {"flights": [_flight("2026-06-01", 1)]}),  # from the future
    ("2026-03-07", _customer("NJ", "2026-03-01")),  # retroactive
]


@pytest.fixture(scope="module")
def worked(spark: SparkSession) -> Answers:
    records = [
        Record(0, offset, parse_instant(f"{day}T12:00:00Z"), None, (), body if isinstance(body, bytes) else _json(body))
        for offset, (day, body) in enumerate(MESSAGES)
    ]
    return answers(spark, GROUP, records)


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _column(worked: Answers, view: str, column: str) -> dict[Any, Any]:
    """By account, and by the day on which the period starts where there is one."""
    return {
        key.key[0] if key.start is None else (key.key[0], key.start): row.values[column]
        for key, row in worked.recomputed[view].rows.items()
    }


def _start(day: str, hour: str = "00:00:00") -> int:
    return parse_instant(f"{day}T{hour}Z")


def test_both_answers_to_the_examples_are_the_same(worked: Answers) -> None:
    assert not worked.differences()
    assert all(rows.rows for rows in worked.recomputed.values())


def test_the_bonus_is_for_flights_made_during_residence(worked: Answers) -> None:
    assert _column(worked, "balance", "miles") == {"a": 6250}
    assert _column(worked, "flown", "miles") == {"a": 5250, "b": 7}


def test_tiers_are_of_the_whole_month_and_the_late_flight_is_not_in_it(worked: Answers) -> None:
    assert _column(worked, "bill", "discount")["a", _start("2026-01-01")] == Decimal("7.28")
    assert _column(worked, "bill", "due")["a", _start("2026-02-01")] == Decimal("13.509")
    assert worked.recomputed["bill"].late == {9 << 12}


def test_late_next_books_in_the_period_of_the_clock(worked: Answers) -> None:
    assert _column(worked, "booked_next", "miles")["a", _start("2026-03-01")] == 1250
    assert not worked.recomputed["booked_next"].late


def test_a_moving_sum_has_its_own_thirty_days(worked: Answers) -> None:
    moving = _column(worked, "moving", "miles")
    assert moving["a", _start("2026-01-10")] == 3000  # 10 January to 8 February
    assert moving["a", _start("2026-01-20")] == 2000
    assert moving["b", _start("2026-02-01")] == 7


def test_a_cycle_that_changed_ends_where_it_would_have_ended(worked: Answers) -> None:
    cycles = _column(worked, "cycles", "miles")
    assert cycles["a", _start("2026-01-15", "17:00:00")] == 2000
    assert cycles["a", _start("2026-02-15", "17:00:00")] == 2000


def test_tuples_of_one_append_join_on_its_sequence_number(worked: Answers) -> None:
    assert _column(worked, "dear", "fees") == {"a": Decimal("1.50")}


def test_averages_are_rounded_once_to_nine_places(worked: Answers) -> None:
    assert str(_column(worked, "flown", "each")["a"]) == "10.235000000"


def test_aggregates_within_an_append_are_exact_too(worked: Answers) -> None:
    assert str(_column(worked, "by_append", "fare")["a"]) == "20.470000002"  # each third is rounded
    assert _column(worked, "by_append", "moment")["a"] == '[["2026-03-05T10:00:00Z", 1]]'


def test_a_view_without_keys_has_one_row(worked: Answers) -> None:
    (row,) = worked.recomputed["all_of_it"].rows.values()
    assert row.values == {"flights": 7, "top": '[["a", 6], ["b", 1]]'}


def test_every_append_has_the_fate_that_the_reference_gives_it(worked: Answers) -> None:
    assert worked.fates == {"applied": 8, "late": 1, "malformed": 1, "future": 1, "retroactive": 1}


def test_a_group_without_relations_is_recomputed_and_rows_that_left_their_type_are_told(spark: SparkSession) -> None:
    text = """
chronicle: 1
name: plain
chronicles:
  readings: {columns: {meter: string, count: int64, level: double, at: timestamp}, chronon: at}
views:
  counts: {from: readings, group_by: meter, select: {total: sum(count)}}
  levels: {from: readings, group_by: meter, select: {total: sum(level)}}
"""
    values = [("a", 1, 1.5), ("a", 2, 2.5), ("b", (1 << 63) - 1, 1e308), ("b", 1, 1e308)]
    bodies = [dict(zip(("meter", "count", "level"), value, strict=True), at="2026-03-01T00:00:00Z") for value in values]
    now = parse_instant("2026-03-01T00:00:00Z")
    found = answers(spark, text, [Record(0, at, now, None, (), _json(body)) for at, body in enumerate(bodies)])
    assert not found.differences()
    for view in ("counts", "levels"):
        assert [key.key for key in found.recomputed[view].overflowed] == [("b",)]
        assert [key.key for key in found.recomputed[view].rows] == [("a",)]
