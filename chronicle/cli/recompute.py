"""`chronicle recompute`: a batch answer over the retained chronicle against the views; exit 1 where they differ."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import open_views
from chronicle.cli.options import json_option, project_options

if TYPE_CHECKING:
    from chronicle.project import Project
    from streaming.recompute import Compared, Difference, Report

_SHOWN = 20


@click.command("recompute")
@click.argument("view", required=False)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most so many differences a view ({_SHOWN}; JSON: all).",
)
@click.option("--verbose", is_flag=True, help="Show what Spark says.")
@json_option
@project_options
def command(project: Project, view: str | None, master: str, limit: int | None, verbose: bool, as_json: bool) -> int:
    """Compares VIEW (or every view) with a batch answer by plain Spark SQL over the retained chronicle.

    \b
    chronicle recompute
    chronicle recompute usage --limit 5
    """
    views = open_views(project)
    if view is not None:
        _ = views[view]  # says what is wrong with it before Spark starts
    from chronicle.cli.machine import spark_jars

    writable = os.access(views.state.directory, os.W_OK)
    from streaming.recompute import recompute
    from streaming.recompute.session import batch_session

    log = views.home.own / "recompute.log" if writable else Path(os.devnull)
    with batch_session(master, None if verbose else log, spark_jars(project)) as spark:
        report = recompute(views, spark, [] if view is None else [view])
    if as_json:
        output.json_line(report_json(report, limit))
    else:
        for line in report_lines(report, _SHOWN if limit is None else limit):
            output.result(line)
    return 0 if report.agrees else 1


def report_json(report: Report, limit: int | None = None) -> dict[str, Any]:
    return {
        "agrees": report.agrees,
        "appends": report.appends,
        "epoch": report.epoch,
        "views": {name: _view_json(compared, limit) for name, compared in report.views.items()},
        "fates": {fate: {"ledger": ledger, "batch": batch} for fate, (ledger, batch) in report.fates.items()},
    }


def _view_json(compared: Compared, limit: int | None) -> dict[str, Any]:
    return {
        "agrees": compared.agrees,
        "rows": compared.rows,
        "different": len(compared.differences),
        "differences": [_difference_json(compared, each) for each in compared.differences[:limit]],
        "faults": list(compared.faults),
        "note": compared.note or None,
        "skipped": compared.skipped or None,
    }


def _difference_json(compared: Compared, difference: Difference) -> dict[str, Any]:
    from calendars import format_instant

    start, end, _ = difference.row
    period = None
    if start is not None and end is not None:
        period = {"start": format_instant(start), "end": format_instant(end)}
    columns = {
        name: {"view": _shown(compared, name, stored), "batch": _shown(compared, name, batch)}
        for name, (stored, batch) in difference.columns.items()
    }
    return {"kind": difference.kind, "key": _key(compared, difference), "period": period, "columns": columns}


def _key(compared: Compared, difference: Difference) -> dict[str, Any]:
    pairs = zip(compared.view.keys, difference.row.key, strict=True)
    return {column.name: _shown(compared, column.name, value) for column, value in pairs}


def _shown(compared: Compared, name: str, value: Any) -> Any:
    from views.lookup.row import shown

    return shown(compared.view.schema[name].type.kind, value)


def report_lines(report: Report, limit: int) -> Iterator[str]:
    width = max(map(len, report.views), default=0)
    for name, compared in report.views.items():
        yield from _view_lines(name.ljust(width), compared, limit)
    for fate, (ledger, batch) in report.fates.items():
        yield f"{click.style('✗', fg='red')} the ledger counts {ledger:,} {fate}, the batch {batch:,}"
    if not report.views:
        yield "no views yet: nothing to compare"
    else:
        yield click.style(f"{report.appends:,} appends, as of epoch {report.epoch}", dim=True)


def _view_lines(name: str, compared: Compared, limit: int) -> Iterator[str]:
    if compared.skipped:
        yield f"{click.style('?', fg='yellow')} {name}  not compared: {compared.skipped}"
        return
    if compared.agrees:
        yield f"{click.style('✓', fg='green')} {name}  {_rows(compared.rows)} agree"
    else:
        count = f"{len(compared.differences):,} of them differ" if compared.differences else "not all can be shown"
        yield f"{click.style('✗', fg='red')} {name}  {_rows(compared.rows)} in the batch, {count}"
    if compared.note:
        yield f"    {compared.note}"
    for difference in compared.differences[:limit]:
        yield f"    {_difference_text(compared, difference)}"
    if (rest := len(compared.differences) - limit) > 0:
        yield f"    and {rest:,} more; --limit shows more of them"
    for fault in compared.faults:
        yield f"    cannot be shown: {fault}"


def _difference_text(compared: Compared, difference: Difference) -> str:
    found = _difference_json(compared, difference)
    key = ", ".join(f"{name}={value}" for name, value in found["key"].items()) or "its only row"
    period = f" [{found['period']['start']}, {found['period']['end']})" if found["period"] else ""
    columns = found["columns"].items()
    match difference.kind:
        case "missing":
            told = "only in the batch: " + ", ".join(f"{name} {each['batch']}" for name, each in columns)
        case "extra":
            told = "only in the view: " + ", ".join(f"{name} {each['view']}" for name, each in columns)
        case "different":
            told = ", ".join(f"{name} is {each['view']}, in the batch {each['batch']}" for name, each in columns)
    return f"{key}{period}: {told}".rstrip(": ")


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
