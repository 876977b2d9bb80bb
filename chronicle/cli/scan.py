"""`chronicle scan`: all rows of a view, for all retained periods or one, as a table, JSON lines, CSV or Parquet."""

from __future__ import annotations

import sys
from itertools import chain, islice
from typing import IO, TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import local_option, open_views
from chronicle.cli.options import json_option, project_options
from chronicle.errors import ChronicleError, UsageError

if TYPE_CHECKING:
    from chronicle.project import Project


@click.command("scan")
@click.argument("view")
@click.option("--period", metavar="LABEL", help="Only this period (default: all that are retained).")
@click.option("--format", "form", type=click.Choice(["table", "jsonl", "csv", "parquet"]), default=None)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows.")
@click.option("-o", "--output", "path", type=click.Path(dir_okay=False), metavar="FILE", help="Instead of stdout.")
@local_option
@json_option
@project_options
def command(
    project: Project,
    view: str,
    period: str | None,
    form: str | None,
    limit: int | None,
    path: str | None,
    local: str | None,
    as_json: bool,
) -> int:
    """All rows of VIEW, in order of period and key. `--json` is the same as `--format jsonl`.

    \b
    chronicle scan usage --period 2026-03
    chronicle scan usage --format parquet -o usage.parquet
    """
    if as_json and form not in (None, "jsonl"):
        raise UsageError(f"--json and --format {form} contradict each other")
    chosen = form or ("jsonl" if as_json else "table")
    if chosen == "parquet" and path is None and sys.stdout.isatty():
        raise UsageError("a Parquet file is nothing for a terminal", "name a file with -o, or redirect the output")
    failed: list[ChronicleError] = []
    looked_up = open_views(project, local)[view]
    found = looked_up.scan(period=period, limit=limit, on_fault=failed.append)
    rows = chain(list(islice(found, 1)), found)  # a wrong period is told before anything is written
    from chronicle.cli.formats import WRITERS

    with click.open_file(path or "-", "wb") as out:
        stream: IO[bytes] = out
        WRITERS[chosen](looked_up, rows, stream)
    for error in failed:
        output.failure(error.message, error.hint)
    return 1 if failed else 0
