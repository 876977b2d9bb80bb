"""Random definitions: two chronicles, two relations, calendars of every form, views of every operator."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from generators.queries import queries

CHRONICLES = {
    "calls": {
        "columns": {
            "caller": "string",
            "callee": "string",
            "seconds": "int64",
            "amount": "decimal(12,2)",
            "kind": "string?",
            "load": "double?",
            "at": "timestamp",
        },
        "chronon": "at",
    },
    "payments": {
        "columns": {
            "payer": "string",
            "points": "int64",
            "paid": "decimal(12,2)",
            "method": "string?",
            "weight": "double?",
            "at": "timestamp",
        },
        "chronon": "at",
    },
}
"""The columns of both correspond by place, so that unions and differences of them have a type."""

CUSTOMERS = {
    "key": ["number"],
    "columns": {"number": "string", "state": "string", "plan": "string?", "zone": "string?", "since": "timestamp?"},
}
BANDS = {"key": ["plan", "least"], "columns": {"plan": "string", "least": "int64", "price": "decimal(6,3)"}}

CALENDARS: dict[str, dict[str, Any]] = {
    "day": {"every": "P1D", "zone": "America/New_York"},
    "month": {"every": "P1M", "zone": "Europe/Berlin"},
    "late_month": {"every": "P1M", "anchor": "2026-01-31T15:00:00", "zone": "America/New_York"},
    "hours": {"every": "PT36H"},
    "moving": {"every": "P1D", "length": "P5D", "zone": "Asia/Kathmandu"},
    "uneven": {"every": "P7D", "length": "P10D"},
    "gaps": {"every": "P7D", "length": "P5D", "zone": "UTC"},
    "fiscal": {
        "fiscal": {
            "pattern": "4-4-5",
            "year_end": {"weekday": "saturday", "rule": "nearest", "month": 1},
            "every": "month",
        }
    },
    "listed": {"boundaries": ["2026-01-01", "2026-02-10", "2026-02-11", "2026-05-01"], "zone": "Europe/London"},
    "named": {
        "periods": [
            {"name": "winter", "start": "2026-01-01", "end": "2026-03-01"},
            {"name": "carnival", "start": "2026-02-12", "end": "2026-02-18"},
            {"name": "spring", "start": "2026-03-20", "end": "2026-06-01"},
        ]
    },
}
KEYED: dict[str, dict[str, Any]] = {
    "cycle": {"every": "P1M", "anchor": "customers.since", "zone": "customers.zone"},
    "local_day": {"every": "P1D", "zone": "customers.zone"},
    "moving_cycle": {"every": "P1D", "length": "P3D", "zone": "customers.zone"},
}

GRACES = (None, "P0D", "PT1H", "P2D", "P1M")
EXPIRIES = (None, "P31D", "P2M")

MONEY_STEPS = ({"above": 10, "rate": 0.1}, {"above": 25, "rate": 0.2}, {"above": 100, "rate": 0.35})


@st.composite
def definitions(draw: st.DrawFn, *, max_views: int = 3, correct: bool = False, inexact: bool = True) -> dict[str, Any]:
    """A definition as the mapping that its YAML is."""
    policies = ["reject", "clamp", *(["correct"] if correct else [])]
    count = draw(st.integers(1, max_views))
    return {
        "chronicle": 1,
        "name": "drawn",
        "max_skew": draw(st.sampled_from(["PT1H", "P1D"])),
        "shards": draw(st.integers(1, 7)),
        "chronicles": CHRONICLES,
        "relations": {
            "customers": {**CUSTOMERS, "retroactive": draw(st.sampled_from(policies))},
            "bands": {**BANDS, "retroactive": draw(st.sampled_from(policies))},
        },
        "calendars": {**CALENDARS, **KEYED},
        "views": {f"v{i}": draw(views(inexact=inexact)) for i in range(count)},
    }


@st.composite
def views(draw: st.DrawFn, *, inexact: bool = True) -> dict[str, Any]:
    query = draw(queries(inexact=inexact))
    view: dict[str, Any] = {"sql": query.sql}
    calendars = [*CALENDARS, *(KEYED if query.groups_by_customer else ())]
    if draw(st.integers(0, 3)):  # most views have a period: that is where most can go wrong
        view["period"] = draw(_periods(calendars))
    if query.has_money and draw(st.booleans()):
        view["derive"] = draw(_derivations())
    return view


@st.composite
def _periods(draw: st.DrawFn, calendars: list[str]) -> dict[str, Any]:
    period: dict[str, Any] = {"calendar": draw(st.sampled_from(calendars)), "late": draw(_late)}
    period["grace"] = draw(st.sampled_from(GRACES))
    period["expire_after"] = draw(st.sampled_from(EXPIRIES))
    return {key: value for key, value in period.items() if value is not None}


_late = st.sampled_from(["reject", "reject", "next"])


@st.composite
def _derivations(draw: st.DrawFn) -> dict[str, Any]:
    """Over the columns that a query with money has: `calls` (a count) and `spend` (a sum)."""
    steps = list(MONEY_STEPS[: draw(st.integers(1, 3))])
    tiers = {"of": "spend", "mode": draw(st.sampled_from(["volume", "graduated"])), "steps": steps}
    return {
        "discount": {"tiers": tiers},
        "due": "spend - discount",
        "each": draw(st.sampled_from(["round(spend / calls, 2)", "case when calls > 2 then spend else 0 end"])),
    }
