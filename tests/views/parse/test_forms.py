"""YAML shorthand and SQL, and all ways to write one join, come to one algebra tree."""

from __future__ import annotations

from textwrap import indent

import pytest

from chronicle.definitions import load_text
from views.algebra import Distinct, GroupBy, RelationJoin, Select, SnJoin
from views.check import check
from views.checked import CheckedView

GROUP = """
chronicle: 1
name: group
chronicles:
  calls:
    columns: {caller: string, callee: string, seconds: int64, amount: "decimal(12,2)", kind: string, at: timestamp}
    chronon: at
  payments: {columns: {payer: string, cents: int64, at: timestamp}, chronon: at}
  flights: {columns: {account: string, flight: string, miles: int64, at: timestamp}, chronon: at}
relations:
  customers: {key: [number], columns: {number: string, state: string, plan: string, zone: string, since: timestamp}}
  members: {key: [account], columns: {account: string, name: string, state: string}}
  rates: {key: [plan, kind], columns: {plan: string, kind: string, rate: "decimal(8,4)"}}
calendars:
  month: {every: P1M, zone: America/New_York}
"""


def checked(body: str) -> CheckedView:
    text = body if body.startswith(("from:", "sql:")) else f"sql: |\n{indent(body, '  ')}"
    verdict = check(load_text(f"{GROUP}\nviews:\n  v:\n{indent(text, '    ')}\n"))
    assert not verdict.errors
    assert not verdict.views["v"].refusals
    return verdict.admitted["v"]


PAIRS = {
    "usage": (
        "from: calls\njoin: {customers: caller = number}\n"
        "where: kind <> 'internal' and customers.state = 'NJ'\ngroup_by: [caller]\n"
        "select: {calls: count(*), seconds: sum(seconds), spend: sum(amount), longest: max(seconds)}",
        "SELECT caller, count(*) AS calls, sum(seconds) AS seconds, sum(amount) AS spend, max(seconds) AS longest\n"
        "FROM calls JOIN customers ON caller = number\n"
        "WHERE kind <> 'internal' AND customers.state = 'NJ' GROUP BY caller",
    ),
    "bill": (
        "from: calls\ngroup_by: [caller]\nselect: {calls: count(*), spend: sum(amount)}",
        "SELECT caller, count(*) AS calls, sum(amount) AS spend FROM calls GROUP BY 1",
    ),
    "reach": (
        "from: calls\ngroup_by: [caller, kind]\nselect: {callees: approx_distinct(callee), last_call: last(callee)}",
        "SELECT c.caller, c.kind, approx_distinct(c.callee) AS callees, last(c.callee) AS last_call\n"
        "FROM calls AS c GROUP BY c.caller, c.kind",
    ),
    "balance": (
        "from: flights\njoin: {members: flights.account = members.account}\ngroup_by: [flights.account]\n"
        "select: {flown: sum(miles), bonus: \"sum(case when members.state = 'NJ' then 500 else 0 end)\"}",
        "SELECT f.account, sum(f.miles) AS flown, sum(CASE WHEN c.state = 'NJ' THEN 500 ELSE 0 END) AS bonus\n"
        "FROM flights f JOIN members c ON f.account = c.account GROUP BY f.account",
    ),
    "pairs": ("from: calls\ngroup_by: [caller, callee]", "SELECT DISTINCT caller, callee FROM calls"),
    "total": ("from: calls\nselect: {n: count(*)}", "SELECT count(*) AS n FROM calls"),
    "named key": (
        "from: calls\ngroup_by: [upper(caller) as who]\nselect: {n: count(*)}",
        "SELECT upper(caller) AS who, count(*) AS n FROM calls GROUP BY who",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_shorthand_and_sql_are_one_tree(name: str) -> None:
    shorthand, sql = PAIRS[name]
    assert checked(shorthand).summary == checked(sql).summary


KEY_JOIN = "SELECT state, count(*) AS n FROM calls JOIN customers ON caller = number GROUP BY state"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT state, count(*) AS n FROM calls JOIN customers ON number = caller GROUP BY state",
        "SELECT state, count(*) AS n FROM calls, customers WHERE caller = number GROUP BY state",
        "SELECT c.state, count(*) AS n FROM customers c JOIN calls k ON c.number = k.caller GROUP BY c.state",
        "SELECT state, count(*) AS n FROM calls INNER JOIN customers FOR SYSTEM_TIME AS OF chronon ON caller = number "
        "GROUP BY 1",
        "SELECT state, count(*) AS n FROM calls CROSS JOIN customers WHERE (customers.number = calls.caller) "
        "GROUP BY state",
        "select STATE as state, COUNT(*) as n from CALLS join Customers on CALLER = NUMBER group by State",
    ],
)
def test_all_ways_to_write_a_key_join_are_one_tree(query: str) -> None:
    assert checked(query).summary == checked(KEY_JOIN).summary


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.caller, count(*) AS n FROM calls a JOIN payments b ON b.sn = a.sn GROUP BY a.caller",
        "SELECT caller, count(*) AS n FROM calls JOIN payments USING (sn) GROUP BY caller",
        "SELECT caller, count(*) AS n FROM calls, payments WHERE calls.sn = payments.sn GROUP BY caller",
    ],
)
def test_all_ways_to_write_an_sn_join_are_one_tree(query: str) -> None:
    expected = checked(
        "SELECT caller, count(*) AS n FROM calls JOIN payments ON calls.sn = payments.sn GROUP BY caller"
    )
    assert isinstance(expected.summary.input, SnJoin)
    assert checked(query).summary == expected.summary


def test_using_on_a_relation_binds_its_key() -> None:
    query = "SELECT state, count(*) AS n FROM flights JOIN members {} GROUP BY state"
    assert (
        checked(query.format("USING (account)")).summary
        == checked(query.format("ON flights.account = members.account")).summary
    )


def test_a_key_bound_partly_by_a_constant_is_bound() -> None:
    view = checked(
        "SELECT caller, sum(amount * rate) AS due FROM calls JOIN customers ON caller = number\n"
        "JOIN rates ON rates.plan = customers.plan AND rates.kind = 'peak' GROUP BY caller"
    )
    assert view.cls == "SCA-join"
    join = view.summary.input
    assert isinstance(join, RelationJoin)
    assert [name for name, _ in join.key] == ["plan", "kind"]


def test_relations_are_joined_in_the_order_in_which_their_keys_become_known() -> None:
    query = (
        "SELECT caller, sum(amount * rate) AS due FROM calls\n"
        "JOIN rates ON rates.plan = customers.plan AND rates.kind = calls.kind\n"
        "JOIN customers ON caller = number GROUP BY caller"
    )
    assert checked(query).cls == "SCA-join"


def test_predicates_on_the_chronicle_come_before_the_joins() -> None:
    view = checked(
        "SELECT state, count(*) AS n FROM calls JOIN customers ON caller = number\n"
        "WHERE seconds > 10 AND customers.state <> 'NY' GROUP BY state"
    )
    above = view.summary.input
    assert isinstance(above, Select)
    assert isinstance(above.input, RelationJoin)
    assert isinstance(above.input.input, Select)


def test_predicates_go_through_unions_and_groupings() -> None:
    view = checked(
        "SELECT who, sum(n) AS n FROM (SELECT sn, caller AS who, count(*) AS n FROM calls GROUP BY sn, caller\n"
        "UNION ALL SELECT sn, payer, cents FROM payments) u WHERE who <> 'x' GROUP BY who"
    )
    assert not isinstance(view.summary.input, Select)


def test_unused_columns_are_dropped_where_they_come_from() -> None:
    view = checked("SELECT state, sum(seconds) AS s FROM calls JOIN customers ON caller = number GROUP BY state")
    join = view.summary.input
    assert isinstance(join, RelationJoin)
    assert [column.name for column in join.columns] == ["state"]
    assert join.input.schema.names == ("caller", "seconds")


def test_a_left_join_keeps_its_own_conditions_apart_from_where() -> None:
    on = checked(
        "SELECT count(*) AS n FROM calls LEFT JOIN customers ON caller = number AND state = 'NJ'"
    ).summary.input
    where = checked(
        "SELECT count(*) AS n FROM calls LEFT JOIN customers ON caller = number WHERE state = 'NJ'"
    ).summary.input
    assert isinstance(on, RelationJoin)
    assert on.residual is not None
    assert isinstance(where, Select)


def test_grouping_without_aggregates_is_the_set_of_keys() -> None:
    assert isinstance(checked("SELECT caller FROM calls GROUP BY caller").summary, Distinct)
    assert isinstance(checked("SELECT caller, count(*) AS n FROM calls GROUP BY caller").summary, GroupBy)


def test_a_grouping_column_that_is_not_selected_is_a_key_all_the_same() -> None:
    view = checked("SELECT count(*) AS n FROM calls GROUP BY calls.caller")
    assert [column.name for column in view.keys] == ["caller"]
