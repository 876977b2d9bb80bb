"""`chronicle get`: one row of a view, or all that a key has. Exit 4 when there is none."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import local_option, open_views, parse_key
from chronicle.cli.options import json_option, project_options
from chronicle.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.lookup import Row, View, Views

_POLL_SECONDS = 0.05


@click.command("get")
@click.argument("view")
@click.argument("key", nargs=-1, metavar="key=value...")
@click.option("--null", "nulls", multiple=True, metavar="COLUMN", help="A key column that is null; may be repeated.")
@click.option("--at", metavar="T", help="The period that contains this instant (default: the group's clock).")
@click.option("--period", metavar="LABEL", help="The period of this name.")
@click.option("--all", "everything", is_flag=True, help="Every retained period of the key.")
@click.option("--after", metavar="TOKEN", help="Answer only when the append of this token is reflected.")
@click.option("--wait", default="5s", show_default=True, metavar="TIME", help="How long to wait for --after.")
@local_option
@json_option
@project_options
def command(
    project: Project,
    view: str,
    key: tuple[str, ...],
    nulls: tuple[str, ...],
    at: str | None,
    period: str | None,
    everything: bool,
    after: str | None,
    wait: str,
    local: str | None,
    as_json: bool,
) -> None:
    """Look up a row of VIEW by its key. Exit 4 when there is none, or its period is expired.

    \b
    chronicle get usage caller=c1
    chronicle get usage caller=c1 --period 2026-03
    chronicle get usage caller=c1 --all --json
    chronicle get reach caller=c1 --null kind
    """
    if sum((at is not None, period is not None, everything)) > 1:
        raise UsageError("give one of --at, --period and --all")
    views = open_views(project, local)
    rows = _rows(views, view, parse_key(key, nulls), at, period, everything, after, wait)
    if not rows:
        named = " ".join([*key, *(f"{column}=null" for column in nulls)])
        raise NotFoundError(f"view {view} has no row for {named or 'this key'}{_when(at, period)}")
    if as_json:
        output.json_line({"rows": [row.to_json() for row in rows]} if everything else rows[0].to_json())
        return
    for line in _table(views[view], rows) if everything else row_lines(rows[0]):
        output.result(line)


def _table(view: View, rows: list[Row]) -> Iterator[str]:
    """Every row of the key for people, the periods one below another."""
    from chronicle.cli.formats import write_table

    text = io.BytesIO()
    write_table(view, rows, text)
    yield text.getvalue().decode().rstrip("\n")
    yield _as_of(rows[0], "as of")


def _rows(
    views: Views,
    name: str,
    key: dict[str, str | None],
    at: str | None,
    period: str | None,
    everything: bool,
    after: str | None,
    wait: str,
) -> list[Row]:
    from views.lookup.waiting import parse_wait
    from views.state import NoStateError

    seconds = parse_wait(wait)
    until = time.monotonic() + seconds
    while True:
        try:
            view = views[name]
            break
        except NoStateError:
            if after is None or time.monotonic() >= until:
                raise
            time.sleep(_POLL_SECONDS)  # the job that will make it may be starting
    left = max(0.0, until - time.monotonic())
    if everything:
        return view.history(key, after=after, wait=left)
    row = view.get(key, at=at, period=period, after=after, wait=left)
    return [] if row is None else [row]


def _when(at: str | None, period: str | None) -> str:
    return f" at {at}" if at else f" in period {period}" if period else ""


def row_lines(row: Row) -> Iterator[str]:
    """The row for people: a line for each column."""
    shown = row.to_json()
    key = " ".join(f"{name}={_text(value)}" for name, value in shown["key"].items())
    yield f"{click.style(row.view, bold=True)} {key}".rstrip()
    width = max([len("period"), *map(len, shown["values"])])
    period = shown["period"]
    if period is not None:
        bounds = f"{output.printable(period['label'])}  [{period['start']}, {period['end']})  {period['state']}"
        yield f"  {'period'.ljust(width)}  {bounds}"
    for name, value in shown["values"].items():
        yield f"  {name.ljust(width)}  {_text(value)}"
    yield _as_of(row, f"  {'as of'.ljust(width)} ")


def _as_of(row: Row, heading: str) -> str:
    as_of = row.to_json()["as_of"]
    return click.style(f"{heading} {as_of['clock']}, committed {as_of['age_ms']} ms ago", dim=True)


def _text(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else output.printable(str(value))
