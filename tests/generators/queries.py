"""Random views as SQL: a chronicle expression of random depth over every operator, and a summarisation of it.

Every inner expression has the columns `who, n, money, kind, load` and keeps `sn`, so that any two can be combined.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

CALLS = "SELECT sn, caller AS who, seconds AS n, amount AS money, kind, load FROM calls"
CALLED = "SELECT sn, callee AS who, seconds AS n, amount AS money, kind, load FROM calls"
PAYMENTS = "SELECT sn, payer AS who, points AS n, paid AS money, method AS kind, weight AS load FROM payments"
TOGETHER = (
    "SELECT sn, c.caller AS who, p.points AS n, c.amount AS money, p.method AS kind, c.load AS load "
    "FROM calls AS c JOIN payments AS p USING (sn)"
)
PREDICATES = (
    "n > 3",
    "kind = 'day'",
    "kind <> 'day' OR money >= 10",
    "kind IS NULL",
    "who IN ('c1', 'c3')",
    "money BETWEEN 1 AND 20 AND NOT n = 5",
    "who LIKE 'c%'",
    "coalesce(kind, 'none') < 'e'",
    "n % 2 = 0",
    "extract(hour FROM chronon) < 12",
)
EXACT_AGGREGATES = (
    "count(kind)",
    "sum(n)",
    "sum(n * 2 + 1)",
    "min(n)",
    "max(money)",
    "min(kind)",
    "avg(n)",
    "avg(money)",
    "first(n)",
    "last(kind)",
    "first(money)",
    "last(chronon)",
    "bool_and(n > 3)",
    "bool_or(kind = 'day')",
    "approx_distinct(kind)",
    "approx_distinct(money)",
    "approx_quantile(n, 0.5)",
    "approx_top_k(kind, 2)",
    "max(load)",
    "last(load)",
    "sum(CASE WHEN kind = 'day' THEN money ELSE 0 END)",
)
INEXACT_AGGREGATES = ("sum(load)", "avg(load)", "var_pop(n)", "var_samp(money)", "stddev_pop(n)", "stddev_samp(load)")


@dataclass(frozen=True, slots=True)
class Query:
    """`groups_by_customer`: it joins customers on their key and groups by it. `has_money`: it has calls and spend."""

    sql: str
    groups_by_customer: bool
    has_money: bool


def chronicles(depth: int = 2) -> st.SearchStrategy[str]:
    """A SELECT of the chronicle algebra."""
    base = st.sampled_from([CALLS, CALLED, PAYMENTS, TOGETHER])
    if depth == 0:
        return base
    inner = chronicles(depth - 1)
    filtered = st.builds(
        lambda p, c: f"SELECT sn, who, n, money, kind, load FROM ({c}) AS f WHERE {p}", _predicate, inner
    )
    operator = st.sampled_from(["UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL"])
    combined = st.builds(lambda o, a, b: f"({a}) {o} ({b})", operator, inner, inner)
    grouped = inner.map(
        lambda c: (
            "SELECT sn, who, sum(n) AS n, max(money) AS money, kind, min(load) AS load "
            f"FROM ({c}) AS g GROUP BY sn, who, kind"
        )
    )
    return base | filtered | combined | grouped


_predicate = st.sampled_from(PREDICATES)


@st.composite
def queries(draw: st.DrawFn, *, inexact: bool = True) -> Query:
    source = f"WITH source AS ({draw(chronicles())}) "
    join, join_keys = draw(st.sampled_from(_JOINS))
    keys = draw(st.sampled_from([["who"], ["who", "kind"], ["kind"], [], *join_keys]))
    where = draw(st.none() | _predicate | st.sampled_from(["n < 9"]))
    tail = f" FROM source{join}" + (f" WHERE {where}" if where else "")
    if keys and not draw(st.integers(0, 7)):
        return Query(f"{source}SELECT DISTINCT {', '.join(keys)}{tail}", False, False)
    has_money = draw(st.booleans())
    outputs = [*keys, *(["count(*) AS calls", "sum(money) AS spend"] if has_money else [])]
    outputs += draw(_aggregates(inexact=inexact, least=0 if has_money else 1))
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    by_customer = "customers ON who" in join and "who" in keys
    return Query(f"{source}SELECT {', '.join(outputs)}{tail}{grouping}", by_customer, has_money)


_JOINS: tuple[tuple[str, list[list[str]]], ...] = (
    ("", []),
    (" JOIN customers ON who = number", [["customers.state"], ["who", "customers.plan"]]),
    (" LEFT JOIN customers ON who = customers.number", [["customers.state"], ["who", "customers.plan"]]),
    (" JOIN bands ON kind = bands.plan AND n >= bands.least", [["bands.least"]]),
    (" LEFT JOIN bands ON bands.plan = kind AND bands.least = n", [["who", "bands.price"]]),
    (
        " JOIN customers ON who = number JOIN bands ON bands.plan = customers.plan AND bands.least = 0",
        [["customers.state", "bands.price"]],
    ),
)
"""By key, by key and outer, by a part of the key (a scan), by a key of two columns, and one after the other."""


@st.composite
def _aggregates(draw: st.DrawFn, *, inexact: bool, least: int) -> list[str]:
    pool = EXACT_AGGREGATES + (INEXACT_AGGREGATES if inexact else ())
    chosen = draw(st.lists(st.sampled_from(pool), min_size=least, max_size=4))
    filters = [draw(st.none() | _predicate) for _ in chosen]
    return [
        f"{call}{f' FILTER (WHERE {condition})' if condition else ''} AS a{i}"
        for i, (call, condition) in enumerate(zip(chosen, filters, strict=True))
    ]
