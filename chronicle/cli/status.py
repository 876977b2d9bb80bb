"""`chronicle status`: how far the views have come, and how far there is to go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import open_views
from chronicle.cli.options import json_option, project_options

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.lookup import Status


@click.command("status")
@json_option
@project_options
def command(project: Project, as_json: bool) -> None:
    """Offsets, lag, clock, rows and sizes; before the first run, what is waiting for it.

    \b
    chronicle status
    chronicle status --json | jq .lag
    """
    from views.lookup import status_of

    status = status_of(open_views(project))
    if as_json:
        output.json_line(status.to_json())
        return
    for line in status_lines(status):
        output.result(line)


def status_lines(status: Status) -> Iterator[str]:
    shown = status.to_json()
    running = f"running, process {status.pid}" if status.pid else "not running"
    lag = "unknown (the source does not answer)" if status.lag is None else f"{status.lag:,} appends"
    yield f"job      {running}"
    yield f"epoch    {status.standing.epoch}" + (f", committed {shown['committed']}" if shown["committed"] else "")
    yield f"clock    {shown['clock'] or 'none yet: nothing was admitted'}"
    yield f"lag      {lag}"
    for topic, partitions in status.offsets.items():
        numbered = ", ".join(f"{partition}: {offset:,}" for partition, offset in partitions.items())
        yield f"offsets  {topic} {{{numbered}}}"
    yield f"state    {status.size_bytes / 1_000_000:,.1f} MB in {status.shards} shards"
    yield "fates    " + ", ".join(f"{fate} {count:,}" for fate, count in status.fates.items() if count)
    width = max(map(len, status.rows), default=0)
    for name, rows in status.rows.items():
        yield f"view     {name.ljust(width)}  {rows:,} rows{_periods(status.periods.get(name, {}))}"


def _periods(counted: Mapping[str, int]) -> str:
    named = ", ".join(f"{count:,} {state}" for state, count in counted.items() if count)
    return f"; periods: {named}" if named else ""
