"""`chronicle follow`: tails a Delta state into a local index, for lookups on this machine. Plain Python, no Java."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.options import project_options

if TYPE_CHECKING:
    from chronicle.project import Project


@click.command("follow")
@click.option("--once", is_flag=True, help="Take in what is committed now, then stop.")
@click.option("--poll", default="50ms", show_default=True, metavar="TIME", help="How often to look for a commit.")
@click.option(
    "--local",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the index is (default: this machine's own, under the state).",
)
@project_options
def command(project: Project, once: bool, poll: str, local: Path | None) -> None:
    """Keep a local index of a Delta state current; `get`, `scan` and `serve` read it with the same --local. It waits
    for a state that is not there yet.

    \b
    chronicle follow --local /var/lib/chronicle/index
    chronicle get usage caller=c1 --local /var/lib/chronicle/index
    """
    from views.lookup.waiting import parse_wait
    from views.replica.indexes import await_state, follow, followed

    seconds = parse_wait(poll)
    stopping = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: stopping.set())
    if not once:
        await_state(project.home, seconds, stopping, output.message)
        if stopping.is_set():
            return
    with followed(project, local) as keeper:
        new = keeper.catch_up()
        output.message(f"{keeper.root}: epoch {keeper.epoch}, {new} new")
        if not once:
            follow(keeper, seconds, stopping, output.warning)
            output.message(f"stopped at epoch {keeper.epoch}")
