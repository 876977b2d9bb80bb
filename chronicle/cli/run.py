"""`chronicle run`: the streaming job. A terminal gets a live line, a log one line an epoch; Spark's own goes apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chronicle.cli.options import project_options

if TYPE_CHECKING:
    from chronicle.project import Project


@click.command("run")
@click.option("--once", is_flag=True, help="Drain what is there, then stop.")
@click.option("--trigger", default="500ms", show_default=True, metavar="TIME", help="How often to look for appends.")
@click.option(
    "--max-batch", type=click.IntRange(min=1), metavar="N", help="Appends an epoch takes at most; bounds memory."
)
@click.option("--master", metavar="URL", help="A Spark master (default: every core of this machine).")
@click.option("--store", type=click.Choice(["embedded", "delta"]), help="Where a new state is kept.")
@click.option("--verbose", is_flag=True, help="Show Spark's own log.")
@project_options
def command(
    project: Project,
    once: bool,
    trigger: str,
    max_batch: int | None,
    master: str | None,
    store: str | None,
    verbose: bool,
) -> None:
    """Keep every view current: read appends as they come, and fold them into the views.

    \b
    chronicle run --once                 # drain what is there, then stop
    chronicle run --trigger 200ms        # until Ctrl-C or SIGTERM; the epoch under way is finished
    """
    from streaming.attendance import Attendance
    from streaming.progress import Progress
    from streaming.run import MOST, RunOptions, run
    from views.lookup.waiting import parse_wait

    options = RunOptions(
        once=once,
        trigger=f"{round(parse_wait(trigger) * 1000)} milliseconds",
        most=max_batch or MOST,
        master=master or RunOptions().master,
        store=store,  # type: ignore[arg-type]  # click has checked it
        verbose=verbose,
    )
    with Progress(once=once) as progress:
        attendance = Attendance(progress.say, options.patience if once else None)
        run(project, options, progress.begin, progress.epoch, attendance)
