"""`chronicle compact`: folds the partials of a Delta state into a snapshot, and removes what nobody needs any more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options
from chronicle.errors import ChronicleError, UsageError

if TYPE_CHECKING:
    from chronicle.project import Project

_LEAST_SECONDS = 3600.0
"""Longer than any epoch takes from its first file to its commit."""


@click.command("compact")
@click.option("--master", metavar="URL", help="Let a Spark cluster do it, a task a shard (default: this process).")
@click.option(
    "--retain",
    default="24h",
    show_default=True,
    metavar="TIME",
    help="How long replaced files stay for followers that are behind; at least 1h.",
)
@json_option
@project_options
def command(project: Project, master: str | None, retain: str, as_json: bool) -> None:
    """Fold the partials of a Delta state into a snapshot, while the job and all lookups go on.

    \b
    chronicle compact
    chronicle compact --master spark://host:7077
    """
    from views.lookup.waiting import parse_wait
    from views.replica import compact, is_delta
    from views.replica.compaction import vacuum
    from views.replica.indexes import plan_of
    from views.state import read_meta

    hours = math.ceil(parse_wait(retain) / 3600)
    if parse_wait(retain) < _LEAST_SECONDS:
        raise UsageError(f"--retain {retain} is less than an hour", "files of the epoch under way must not be taken")
    home = project.home
    read_meta(home)
    if not is_delta(home):
        raise ChronicleError(f"the state at {home} is not in the Delta store", "an embedded state needs no compaction")
    plan = plan_of(project)
    if master is None:
        epochs = compact(home, plan)
    else:
        from streaming.delta.compacting import compact_on

        epochs = compact_on(master, home, plan)
    removed = vacuum(home, hours)
    if as_json:
        output.json_line({"epochs": epochs, "removed": removed})
    else:
        output.result(f"{epochs:,} epochs folded into the snapshot, {removed:,} old files removed")
