"""`chronicle ledger`: what became of every append, and why some were refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import open_views
from chronicle.cli.options import json_option, project_options
from chronicle.sequence import offset_of

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.lookup import Ledger

_SHOWN = 20
_BODY = 100


@click.command("ledger")
@click.option("--fate", metavar="FATE", help="Only refusals with this fate: late, future, retroactive, malformed.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help=f"At most so many (shown: {_SHOWN}; JSON: all).")
@json_option
@project_options
def command(project: Project, fate: str | None, limit: int | None, as_json: bool) -> None:
    """Counts by fate, and the quarantined appends with their reasons, the latest first.

    \b
    chronicle ledger --fate late --limit 5
    """
    ledger = open_views(project).ledger(fate, limit if limit is not None or as_json else _SHOWN)
    if as_json:
        output.json_line(ledger.to_json())
        return
    for line in ledger_lines(ledger):
        output.result(line)


def ledger_lines(ledger: Ledger) -> Iterator[str]:
    width = max(len(f"{count:,}") for count in ledger.fates.values())
    for fate, count in ledger.fates.items():
        yield f"{fate:<12} {count:>{width},}"
    for name, count in ledger.counters.items():
        yield click.style(f"{name}  {count:,}", dim=True)
    for refused in ledger.quarantine:
        view = f" by view {refused.view}" if refused.view else ""
        body = output.printable(refused.body.decode(errors="replace"))
        yield ""
        yield f"{click.style(refused.fate, fg='yellow', bold=True)}{view}: {output.printable(refused.reason)}"
        yield f"  sn {refused.sn} (offset {offset_of(refused.sn)})  {body[:_BODY]}{'…' if len(body) > _BODY else ''}"
