"""The demo: a definition is checked, calls go into the journal, bills come out, and a view that would cost more every
day is refused.

Everything goes through the `chronicle` command, exactly as a user would type it, in the directory `demo/`. The bills
are those of the reference evaluator, which reads the whole journal; the streaming job will keep the same ones.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import telecom_load as load
from rich.console import Console
from rich.table import Table

import chronicle as chronicle_package
from calendars import format_instant
from chronicle.journal import Journal
from views.reference import Outcome, Record, evaluate

CALLS = 6_000
CUSTOMERS = 50
BEGIN, MIDDLE, END = (datetime(2026, month, day, tzinfo=UTC) for month, day in ((1, 2), (3, 10), (5, 20)))
DIRECTORY = Path("demo")
CHRONICLE = Path(sys.executable).with_name("chronicle")

REFUSED = """
  pairs:                       # who called each other: every new call would have to meet every old one
    sql: |
      SELECT a.caller, count(*) AS pairs
      FROM calls a JOIN calls b ON a.callee = b.caller
      GROUP BY a.caller
"""

console = Console(highlight=False)


def main() -> None:
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    tell("A definition: one chronicle, one relation with versions, four views over three billing calendars")
    chronicle("init", str(DIRECTORY), "--example", "telecom", directory=Path())
    chronicle("check")

    tell("Billing months in New York: one of them is an hour short, one an hour long")
    chronicle("calendar", "month", "--from", "2026-01-01T05:00:00Z", "--to", "2026-06-01T04:00:00Z")

    tell(f"{CALLS:,} calls of {CUSTOMERS} customers; some are malformed or late, one customer moves in the middle")
    half = CALLS // 2
    feed("upsert", "customers", load.customers(CUSTOMERS))
    feed("append", "calls", load.calls(half, CUSTOMERS, BEGIN, MIDDLE, seed=1))
    feed("upsert", "customers", load.moves(CUSTOMERS, MIDDLE + timedelta(days=1)))
    feed("append", "calls", load.calls(CALLS - half, CUSTOMERS, MIDDLE, END, seed=2))

    outcome, caller = bills(), load.number(7)
    tell(f"The bill of {caller}, by calendar month in New York; the discount is tiered")
    show(outcome, "bill", caller)
    tell("The same calls by the customer's own billing cycle, in the customer's own zone")
    show(outcome, "cycle_bill", caller)
    fates = {name: sum(count[name] for count in outcome.fates.values()) for name in ("applied", "late", "malformed")}
    tell("What happened to every append")
    console.print("  ".join(f"{name} {count:,}" for name, count in fates.items()))

    tell("A view whose appends would cost more every day is refused, with the reason and a way out")
    (DIRECTORY / "refused.yaml").write_text((DIRECTORY / "chronicle.yaml").read_text() + REFUSED)
    chronicle("check", "-f", "refused.yaml", expected=3)

    console.print("\n[bold]Go on from here:[/]")
    console.print(f"  cd {DIRECTORY} && ../.venv/bin/chronicle explain cycle_bill")
    console.print(f"  cd {DIRECTORY} && ../.venv/bin/chronicle calendar moving30 --at 2026-03-17T10:00:00Z")
    console.print(f"  cd {DIRECTORY} && ../.venv/bin/chronicle doctor")


def tell(text: str) -> None:
    console.print(f"\n[bold cyan]── {text}[/]")


def chronicle(*arguments: str, directory: Path = DIRECTORY, expected: int = 0) -> None:
    """Shows the command, runs it for the user's eyes, and stops the demo if it did not end as expected."""
    console.print(f"[green]$[/] chronicle {' '.join(arguments)}")
    code = subprocess.run([CHRONICLE.absolute(), *arguments], cwd=directory, check=False).returncode
    if code != expected:
        sys.exit(f"`chronicle {' '.join(arguments)}` ended with {code}, not {expected}")


def feed(command: str, name: str, lines: Iterator[str]) -> None:
    """Writes the lines beside the definition and hands the file to `append` or `upsert`."""
    data = load.write(DIRECTORY / f"{command}-{name}.jsonl", lines)
    chronicle(command, name, data.name)


def bills() -> Outcome:
    """Every row of every view, by the reference evaluator over the whole journal."""
    project = chronicle_package.load(DIRECTORY / "chronicle.yaml")
    assert project.journal_path is not None
    journal = Journal.open(project.journal_path)
    records = [
        Record(0, r.offset, r.timestamp, r.key, r.headers, r.value) for r in journal.read(0, journal.next_offset())
    ]
    return evaluate(project.definition, project.check().admitted, records)


def show(outcome: Outcome, view: str, caller: str) -> None:
    """The rows of one key as a table: the period, its state, and every value."""
    mine = {key: row for key, row in outcome.rows[view].items() if key.key == (caller,)}
    table = Table(box=None, header_style="bold")
    for name in ("from", "to", "state"):
        table.add_column(name)
    for name in next(iter(mine.values())):
        table.add_column(name, justify="right")
    for key, row in sorted(mine.items()):
        assert key.start is not None
        assert key.end is not None
        state = outcome.states[view][key].value
        table.add_row(
            format_instant(key.start), format_instant(key.end), state, *(str(value) for value in row.values())
        )
    console.print(table)


if __name__ == "__main__":
    main()
