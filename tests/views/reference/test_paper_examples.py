"""The papers' own examples with their answers (chronicle-data-model, §1, Examples 2.1 and 2.2, §5.1, §5.3)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from worked import by_start, column, outcome, rows, taken

from calendars import parse_instant

FLYER = """
chronicles:
  flights: {columns: {account: string, miles: int64, at: timestamp}, chronon: at}
relations:
  customers: {key: account, columns: {account: string, state: string}}
views:
  flown: {from: flights, group_by: account, select: {miles: sum(miles)}}
  balance:
    from: flights
    join: {customers: flights.account = customers.account}
    group_by: flights.account
    select: {miles: "sum(miles + case when customers.state = 'NJ' then 500 else 0 end)"}
"""


def _flight(day: str, miles: int) -> tuple[int, int, bytes | None]:
    return taken(
        f"{day}T12:00:00Z", {"_chronicle": "flights", "account": "a", "miles": miles, "at": f"{day}T10:00:00Z"}
    )


def _moves(day: str, state: str, since: str) -> tuple[int, int, bytes | None]:
    return taken(f"{day}T00:00:00Z", {"customers": [{"account": "a", "state": state, "_from": f"{since}T00:00:00Z"}]})


def test_the_new_jersey_bonus_is_for_flights_made_during_residence_there() -> None:
    result = outcome(
        FLYER,
        _moves("2026-01-01", "NY", "2026-01-01"),
        _flight("2026-01-10", 1000),  # in New York: no bonus
        _moves("2026-01-11", "NJ", "2026-02-01"),  # proactive: known before it holds
        _flight("2026-01-20", 1000),  # still in New York
        _flight("2026-02-01", 1000),  # New Jersey
        _moves("2026-02-02", "PA", "2026-03-01"),
        _flight("2026-02-28", 1000),  # New Jersey
        _flight("2026-03-05", 1000),  # Pennsylvania
    )
    assert column(result, "balance", "miles") == {"a": 6000}
    assert column(result, "flown", "miles") == {"a": 5000}


def test_a_flight_that_is_posted_late_has_the_residence_of_its_own_day() -> None:
    result = outcome(
        FLYER,
        _moves("2026-01-01", "NJ", "2026-01-01"),
        _flight("2026-01-10", 100),
        _moves("2026-01-11", "NY", "2026-02-01"),
        _flight("2026-02-10", 100),
        taken(
            "2026-02-11T00:00:00Z",
            {"_chronicle": "flights", "account": "a", "miles": 100, "at": "2026-01-31T23:59:59Z"},
        ),
    )
    assert column(result, "balance", "miles") == {"a": 1300}


STATUS = """
chronicles:
  flights: {columns: {account: string, miles: int64, at: timestamp}, chronon: at}
calendars: {year: {every: P1Y}}
views:
  status:
    from: flights
    group_by: account
    select: {miles: sum(miles)}
    period: {calendar: year}
    derive:
      status: "case when miles >= 100000 then 'gold' when miles >= 50000 then 'silver' else 'bronze' end"
"""


def test_premier_status_is_of_the_miles_of_a_year() -> None:
    result = outcome(
        STATUS, _flight("2025-12-31", 60_000), _flight("2026-01-01", 40_000), _flight("2026-06-01", 60_000)
    )
    assert by_start(result, "status", "status") == {
        parse_instant("2025-01-01T00:00:00Z"): "silver",
        parse_instant("2026-01-01T00:00:00Z"): "gold",
    }


CELLULAR = """
chronicles:
  calls: {columns: {number: string, seconds: int64, at: timestamp}, chronon: at}
relations:
  subscriptions: {key: number, columns: {number: string, customer: string, since: timestamp}}
calendars:
  billing: {every: P1M, anchor: subscriptions.since}
views:
  this_month:
    from: calls
    join: {subscriptions: calls.number = subscriptions.number}
    group_by: calls.number
    select: {seconds: sum(seconds)}
    period: {calendar: billing}
    derive: {minutes: "round(seconds / 60, 1)"}
  since_assigned:
    sql: |
      SELECT c.number, s.customer, sum(c.seconds) AS seconds
      FROM calls c JOIN subscriptions s ON c.number = s.number GROUP BY c.number, s.customer
"""


def _call(at: str, seconds: int) -> tuple[int, int, bytes | None]:
    return taken(at, {"_chronicle": "calls", "number": "201", "seconds": seconds, "at": at})


def _assigned(customer: str, since: str) -> tuple[int, int, bytes | None]:
    change = {"number": "201", "customer": customer, "since": since, "_from": since}
    return taken("2026-01-01T00:00:00Z", {"subscriptions": [change]})


def test_cellular_minutes_are_of_the_billing_month_of_the_number() -> None:
    result = outcome(
        CELLULAR,
        _assigned("ann", "2026-01-15T00:00:00Z"),
        _call("2026-02-14T23:59:59Z", 90),
        _call("2026-02-15T00:00:00Z", 600),
        _call("2026-03-01T00:00:00Z", 33),
    )
    assert by_start(result, "this_month", "minutes") == {
        parse_instant("2026-01-15T00:00:00Z"): Decimal("1.5"),
        parse_instant("2026-02-15T00:00:00Z"): Decimal("10.6"),
    }


def test_cellular_minutes_since_the_number_was_assigned_are_those_of_its_present_customer() -> None:
    result = outcome(
        CELLULAR,
        _assigned("ann", "2026-01-15T00:00:00Z"),
        _call("2026-01-20T00:00:00Z", 100),
        _assigned("bob", "2026-02-01T00:00:00Z"),
        _call("2026-02-01T00:00:00Z", 7),
    )
    assert column(result, "since_assigned", "seconds") == {("201", "ann"): 100, ("201", "bob"): 7}


PLAN = """
chronicles:
  calls: {columns: {caller: string, amount: "decimal(12,2)", at: timestamp}, chronon: at}
calendars: {month: {every: P1M}}
views:
  bill:
    from: calls
    group_by: caller
    select: {spend: sum(amount)}
    period: {calendar: month}
    derive:
      discount: {tiers: {of: spend, mode: volume, steps: [{above: 10, rate: 0.10}, {above: 25, rate: 0.20}]}}
      due: spend - discount
"""


@pytest.mark.parametrize(
    ("spend", "discount", "due"),
    [("10.00", "0.00", "10.00"), ("10.01", "1.001", "9.009"), ("25.00", "2.50", "22.50"), ("31.40", "6.28", "25.12")],
)
def test_the_telephone_discount_is_on_all_calls_once_the_month_exceeds_a_step(
    spend: str, discount: str, due: str
) -> None:
    half = Decimal(spend) - 5
    calls = [{"caller": "c", "amount": str(amount), "at": "2026-03-01T00:00:00Z"} for amount in (half, 5)]
    (row,) = rows(outcome(PLAN, *(taken("2026-03-01T00:00:01Z", call) for call in calls)), "bill")
    assert (str(row["spend"]), str(row["discount"]), str(row["due"])) == (spend, discount, due)


MOVING = """
chronicles:
  trades: {columns: {stock: string, shares: int64, at: timestamp}, chronon: at}
calendars: {moving30: {every: P1D, length: P30D}}
views:
  volume: {from: trades, group_by: stock, select: {shares: sum(shares)}, period: {calendar: moving30}}
"""


def test_the_moving_sum_of_a_day_has_the_thirty_days_that_end_with_it() -> None:
    trades = [("2026-03-01", 1), ("2026-03-02", 10), ("2026-03-30", 100), ("2026-03-31", 1000)]
    messages = [taken(f"{day}T13:00:00Z", {"stock": "T", "shares": n, "at": f"{day}T12:00:00Z"}) for day, n in trades]
    shares = by_start(outcome(MOVING, *messages), "volume", "shares")
    assert shares[parse_instant("2026-03-01T00:00:00Z")] == 111  # 1 to 30 March
    assert shares[parse_instant("2026-03-02T00:00:00Z")] == 1110  # 2 to 31 March
    assert shares[parse_instant("2026-03-31T00:00:00Z")] == 1000
    assert shares[parse_instant("2026-01-31T00:00:00Z")] == 1
    assert len(shares) == 60


ATM = """
chronicles:
  transactions: {columns: {account: string, kind: string, amount: "decimal(12,2)"}}
views:
  balance:
    from: transactions
    group_by: account
    select: {balance: "sum(case when kind = 'deposit' then amount else -amount end)", moves: count(*)}
"""


def test_an_atm_balance_takes_each_withdrawal_once() -> None:
    moves = [("deposit", "100.00"), ("withdrawal", "30.10"), ("withdrawal", "30.10")]
    messages = [taken("2026-01-01T00:00:00Z", {"account": "x", "kind": k, "amount": a}) for k, a in moves]
    assert rows(outcome(ATM, *messages), "balance") == [{"account": "x", "balance": Decimal("39.80"), "moves": 3}]
