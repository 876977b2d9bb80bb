"""`chronicle explain VIEW`: how a view is kept, stage by stage, so that its cost can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options
from chronicle.errors import ChronicleError, DefinitionError, NotFoundError, did_you_mean

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.checked import CheckedView


@click.command()
@click.argument("view")
@project_options
@json_option
@click.option(
    "--measure", "measured", is_flag=True, help="Run generated appends through the view: what one costs, in seconds."
)
def command(view: str, project: Project, as_json: bool, measured: bool) -> int:
    """How VIEW is kept: algebra, class and bound, periods and panes, state layout, relations, compiled plan.

    --measure shows beside the bound what an append costs here, and what it costs at ten times the history and ten times
    the relations. It takes some seconds, and needs neither the state nor Spark.

    Exit 3 when the checker refuses the view, 4 when there is none of that name.

    \b
    chronicle explain usage
    chronicle explain usage --measure
    """
    from views.explanation import explanation

    checked = _checked(view, project)
    said = {**explanation(checked), "versions": _versions(checked, project), "plan": _plan(checked, project)}
    if measured:
        said["measured"] = _measured(project, checked)
    if as_json:
        output.json_line(said)
    else:
        for line in _lines(checked, said):
            output.result(line)
    return 0


def _checked(name: str, project: Project) -> CheckedView:
    verdict = project.check()
    judged = verdict.views.get(name)
    if judged is None:
        if verdict.errors and not verdict.views:
            raise DefinitionError(verdict.errors)
        raise NotFoundError(f"there is no view '{name}'{did_you_mean(name, verdict.views)}")
    if judged.checked is None:
        raise DefinitionError((*judged.refusals, *verdict.errors))
    return judged.checked


def _plan(view: CheckedView, project: Project) -> list[str]:
    """What the map does for an epoch of appends, and what the fold does with its partials."""
    from views.plan import Finish, Lookup, Scan, plan_group

    group = plan_group(project.definition, project.check().admitted.values())
    plan = next(program for program in group.programs if view.name in program.views)
    lines: list[str] = []
    if plan.constants is not None:
        lines.append(
            f"together with {len(plan.views) - 1} other views that differ in constants only, which are looked up: "
            f"{len(plan.constants.columns)} a view"
        )
    for step in plan.steps:
        match step:
            case Lookup():
                lines.append(f"look up the versions of {step.relation} by {', '.join(step.key)}: {step.keys_sql}")
            case Scan():
                lines.append(f"read all versions of {step.relation}")
            case Finish():
                lines.append(f"finish {', '.join(a.name for a in step.aggregates)} within each append: {step.sql}")
    if plan.keyed is not None:
        lines.append(f"give each tuple the period of its own {plan.keyed.relation}: {plan.rows_sql}")
    lines.append(f"map, where the appends are read: {plan.partial_sql}")
    lines.append("fold, where the key lives: merge each partial into its row, in one transaction with the ledger")
    return lines


def _versions(view: CheckedView, project: Project) -> dict[str, Any] | None:
    """How the map finds the versions that the view joins; `bytes` and `now` where there is a state that says it."""
    from views.replica import readable_now
    from views.state import State, read_meta
    from views.state.held import HELD_BELOW

    if not view.bound.relations:
        return None
    said: dict[str, Any] = {"sent_below": HELD_BELOW, "bytes": None, "now": None}
    try:
        directory = readable_now(project)
        if directory is not None:
            size = State.open(directory).version_bytes
            now = "sent" if size < HELD_BELOW else "followed"
            said |= {"bytes": size, "now": now if read_meta(directory).store == "delta" else "own index"}
    except ChronicleError as error:
        output.warning(f"what the versions take now is not known: {error.message}", error.hint)
    return said


def _measured(project: Project, view: CheckedView) -> dict[str, Any]:
    from dataclasses import asdict

    from views.measure import measure

    cost = measure(project.definition, view)
    said = asdict(cost)
    for name, growth in (("history", cost.history), ("versions", cost.versions)):
        said[name] = None if growth is None else {**asdict(growth), "within": growth.within}
    return said


def _lines(view: CheckedView, said: dict[str, Any]) -> Iterator[str]:
    from chronicle.expressions import render
    from views.algebra.drawing import drawn

    yield f"{click.style(view.name, bold=True)}: {click.style(said['class'], fg='green')} ({said['complexity']})"
    yield f"  {said['bound']}"
    yield f"  {said['why']}"
    yield from _section("algebra (what runs; u unions and j joins count here)", drawn(view.summary, render))
    yield from _section("period", _period_lines(said["period"]))
    yield from _section("state, a row for each key", _state_lines(said["state"]))
    derived = [f"{item['column']} {item['type']} = {item['value']}" for item in said["derived"]]
    yield from _section("computed at lookup", derived)
    if said["versions"] is not None:
        title = f"versions of {', '.join(said['relations'])}, before each epoch"
        yield from _section(title, _version_lines(said["versions"]))
    yield from _section("plan", said["plan"])
    if "measured" in said:
        yield from _section("measured (generated appends, map and fold in this process)", _cost_lines(said["measured"]))


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield click.style(title, bold=True)
        yield from (f"  {line}" for line in lines)


def _period_lines(period: dict[str, Any] | None) -> list[str]:
    if period is None:
        return ["none: one row a key, for ever"]
    keyed = period["keyed_by"]
    whose = f", one calendar for each row of {keyed['relation']}" if keyed else ""
    expiry = f"expires {period['expire_after']} after its end" if period["expire_after"] else "never expires"
    zone = f" in {period['zone']}" if period["zone"] else ""
    return [
        f"calendar {period['calendar']}{zone}{whose}",
        f"grace {period['grace']}, late appends: {period['late']}, {expiry}",
        period["panes"],
    ]


def _state_lines(state: dict[str, Any]) -> list[str]:
    lines = [f"key    {' | '.join(state['key'])}"]
    for value in state["values"]:
        fields = ", ".join(f"{field['name']} {field['dtype']}" for field in value["fields"])
        remark = f"  ({value['remark']})" if value["remark"] else ""
        lines.append(f"value  {value['column']} {value['type']} = {value['aggregate']}: {fields}{remark}")
    return lines


def _version_lines(versions: dict[str, Any]) -> list[str]:
    below = _size(versions["sent_below"])
    lines = [
        "on one machine: looked up in the state's own index",
        f"on a cluster: sent to the workers while those of all relations take less than {below};",
        "              above, each machine follows the state into an index of its own",
    ]
    if versions["now"] is not None:
        lines.append(f"now {_size(versions['bytes'])}: {_NOW[versions['now']]}")
    return lines


_NOW = {
    "own index": "looked up in the index of this embedded state",
    "sent": "sent, where the job runs on a cluster",
    "followed": "followed, where the job runs on a cluster",
}


def _size(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size / 1_000:,.0f} kB"


def _cost_lines(measured: dict[str, Any]) -> list[str]:
    growths = [None, measured["history"], measured["versions"]]
    lines = []
    for point, growth in zip(measured["points"], growths, strict=False):
        relations = "" if point["versions"] is None else f", |R| {point['versions']:,}"
        what = f"after {point['history']:,} appends{relations}"
        lines.append(f"{what:<34} {point['microseconds']:8.2f} µs an append{'' if growth is None else _grown(growth)}")
    return lines


def _grown(growth: dict[str, Any]) -> str:
    if growth["allowed"] == 1:
        means = "flat, as the bound says" if growth["within"] else "not flat: is the machine busy? measure again"
    else:
        means = f"the bound allows {growth['allowed']:.2f} times"
        means += "" if growth["within"] else ": is the machine busy? measure again"
    return f"  {growth['ratio']:.2f} times: {means}"
