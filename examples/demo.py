"""The demo: a telephone company's calls become bills, and a view that would cost more every day is refused.

Everything goes through the `chronicle` command, as a user would type it, in the directory `demo/`: a definition is
checked, calls and changes of customers are appended, Spark drains them into the views, and lookups answer.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import telecom_load as load
from rich.console import Console

CALLS = 200_000
BEGIN, MIDDLE, END = (datetime(2026, month, day, tzinfo=UTC) for month, day in ((1, 2), (2, 17), (3, 29)))
CHRONICLE = Path(sys.executable).with_name("chronicle").absolute()

REFUSED = """
  pairs:                       # who calls whom back: every new call would have to meet every old one
    sql: |
      SELECT a.caller, count(*) AS pairs
      FROM calls a JOIN calls b ON a.callee = b.caller
      GROUP BY a.caller
"""

console = Console(highlight=False, soft_wrap=True)


def main(directory: Path, calls: int) -> None:
    began = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    shell = Shell(directory)
    customers = max(50, calls // 50)
    mover = load.number(load.moved(customers)[0])

    tell("A definition: one chronicle, a relation with versions, three billing calendars, four views")
    shell.run("init", str(directory), "--example", "telecom", within=Path(), quiet=True)
    shell.run("check")

    tell(f"{calls:,} calls over three months by {customers:,} customers in two zones; some customers move on the way")
    shell.feed("upsert", "customers", "customers", load.customers(customers))
    shell.feed("append", "calls", "winter", load.calls(calls // 2, customers, BEGIN, MIDDLE, seed=1))
    shell.feed("upsert", "customers", "moves", load.moves(customers, MIDDLE + timedelta(days=1)))
    shell.feed("upsert", "customers", "too-late", list(load.moves(customers, BEGIN))[:1])
    shell.feed("append", "calls", "spring", load.calls(calls - calls // 2, customers, MIDDLE, END, seed=2))

    tell("Structured Streaming keeps every view current; --once drains what is there and stops")
    shell.run("run", "--once")

    tell(f"The bill of {mover} by month in New York: 10 % off above $10, 20 % above $25")
    shell.run("get", "bill", f"caller={mover}", "--all")
    tell("The same by the customer's own cycle: a move in February, to the other zone and another day of the month")
    shell.run("get", "cycle_bill", f"caller={mover}", "--all")
    tell("The moving sum of 30 days")
    shell.run("get", "recent", f"caller={mover}")
    tell("What became of every append, and why some were refused")
    shell.run("ledger", "--limit", "4")

    tell("A view whose appends would cost more every day is refused, with the reason and a way out")
    (directory / "refused.yaml").write_text((directory / "chronicle.yaml").read_text() + REFUSED)
    shell.run("check", "-f", "refused.yaml", expected=3)

    console.print(f"\n[bold]All of this took {time.monotonic() - began:.0f} s. Go on from here:[/]")
    console.print(f"  export PATH={_shown(CHRONICLE.parent)}:$PATH; cd {directory}")
    for command in (
        "chronicle explain cycle_bill        # algebra tree, class, bound, state layout, plan",
        "chronicle recompute bill            # the same view by Spark SQL over all calls, compared row by row",
        "chronicle serve                     # lookups over HTTP, and a page to look at",
    ):
        console.print(f"  {command}")


def _shown(path: Path) -> str:
    return f"$PWD/{path.relative_to(Path.cwd())}" if path.is_relative_to(Path.cwd()) else str(path)


def tell(text: str) -> None:
    console.print(f"\n[bold cyan]── {text}[/]")


class Shell:
    """Runs `chronicle` in the demo's directory for the user's eyes, and stops where it does not end as expected."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def run(self, *arguments: str, within: Path | None = None, expected: int = 0, quiet: bool = False) -> None:
        line = f"chronicle {' '.join(arguments)}"
        console.print(f"[green]$[/] {line}")
        code = subprocess.run(
            [CHRONICLE, *arguments],
            cwd=within or self._directory,
            stdout=subprocess.DEVNULL if quiet else None,
            check=False,
        ).returncode
        if code != expected:
            sys.exit(f"`{line}` ended with {code}, not {expected}")

    def feed(self, command: str, name: str, file: str, lines: Iterable[str]) -> None:
        """Writes the lines beside the definition and hands the file to `append` or `upsert`."""
        data = load.write(self._directory / f"{file}.jsonl", lines)
        self.run(command, name, data.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--dir", type=Path, default=Path("demo"), dest="directory")
    main(**vars(parser.parse_args()))
