"""What `chronicle explain` says of a view: its tree, class and bound, periods and panes, state layout and plan."""

from __future__ import annotations

from typing import Any

from calendars import KeyedCalendar
from chronicle.expressions import render
from views.aggregates import monoid_of
from views.algebra.drawing import aggregate_text, to_json
from views.check.classes import COMPLEXITY
from views.checked import CheckedView, PeriodRule, Tiers, ViewClass

WHY_CHEAP = {
    ViewClass.SCA1: "each append is worked out from its own tuples alone, however long the chronicle has become",
    ViewClass.SCA_JOIN: "each tuple looks up one row of a relation at most, by key; the chronicle is never read again",
    ViewClass.SCA: "each tuple meets every row of a relation, so keep it small; the chronicle is never read again",
}


def explanation(view: CheckedView) -> dict[str, Any]:
    """Everything that there is to say, as JSON."""
    bound = view.bound
    return {
        "view": view.name,
        "class": view.cls.value,
        "complexity": COMPLEXITY[view.cls],
        "bound": bound.text,
        "unions": bound.unions,
        "joins": bound.joins,
        "scans": bound.scans,
        "relations": list(bound.relations),
        "why": WHY_CHEAP[view.cls],
        "tree": to_json(view.summary, render),
        "period": None if view.period is None else _period(view.period),
        "state": _state(view),
        "derived": [_derived(derived.name, derived.value) for derived in view.derived],
    }


def _period(rule: PeriodRule) -> dict[str, Any]:
    calendar = rule.calendar
    keyed = rule.keyed_by
    return {
        "calendar": rule.calendar_name,
        "zone": None if isinstance(calendar, KeyedCalendar) and calendar.zone_column else str(calendar.zone),
        "overlapping": calendar.overlapping,
        "grace": str(rule.grace),
        "expire_after": None if rule.expire_after is None else str(rule.expire_after),
        "late": rule.late,
        "keyed_by": None if keyed is None else {"relation": keyed.relation, "anchor": keyed.anchor, "zone": keyed.zone},
        "panes": _panes(calendar.overlapping),
    }


def _panes(overlapping: bool) -> str:
    if overlapping:
        return "periods overlap: each tuple is kept once, in its pane, and a lookup merges the panes of its period"
    return "one pane is one period: a tuple belongs to at most one"


def _state(view: CheckedView) -> dict[str, Any]:
    start = (
        []
        if view.period is None
        else ["start of the pane" if view.period.calendar.overlapping else "start of the period"]
    )
    values = []
    for aggregate in view.summary.aggregates:
        monoid = monoid_of(aggregate)
        remark = _remark(aggregate.function, monoid.inexact)
        values.append(
            {
                "column": aggregate.name,
                "aggregate": aggregate_text(aggregate, render),
                "type": str(aggregate.type),
                "fields": [{"name": field.name, "dtype": field.dtype} for field in monoid.fields],
                "exact": not remark,
                "remark": remark,
            }
        )
    return {"key": ["view", *start, *(str(column) for column in view.keys)], "values": values}


def _remark(function: str, inexact: bool) -> str:
    if function.startswith("approx_"):
        return "approximate: a sketch of bounded size"
    return "inexact: additions of doubles round, so their order shows in the last digits" if inexact else ""


def _derived(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Tiers):
        steps = ", ".join(f"above {step.above}: {step.rate}" for step in value.steps)
        text = f"{value.mode} tiers of {render(value.of)} ({steps})"
    else:
        text = render(value)
    return {"column": name, "value": text, "type": str(value.type)}
