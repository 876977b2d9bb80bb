"""`chronicle init`: a project to start from. The examples are files of the package, in chronicle/examples."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from chronicle.cli import output
from chronicle.cli.options import DEFAULT_FILE
from chronicle.errors import ChronicleError


@dataclass(frozen=True, slots=True)
class Example:
    about: str
    steps: tuple[str, ...]


EXAMPLES = {
    "telecom": Example(
        "calls, billing months, 30-day moving sums, a tiered discount",
        (
            "chronicle upsert customers customers.jsonl",
            "chronicle append calls calls.jsonl",
            "chronicle run --once",
            "chronicle get bill caller=+0000007",
        ),
    ),
    "flyer": Example(
        "miles, the New Jersey bonus as of the flight, premier status",
        (
            "chronicle upsert customers customers.jsonl",
            "chronicle append flights flights.jsonl",
            "chronicle run --once",
            "chronicle get balance account=a1",
        ),
    ),
    "bank": Example(
        "balances, daily limits at the ATM, fees, appends of two chronicles",
        (
            "chronicle upsert accounts accounts.jsonl",
            "chronicle append --envelope appends.jsonl",
            "chronicle run --once",
            "chronicle get balance account=1001",
        ),
    ),
}


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--example", type=click.Choice(list(EXAMPLES)), default="telecom", show_default=True)
def command(directory: Path, example: str) -> None:
    """Start a project in DIR (default: here): a commented definition and sample data.

    Nothing that is there already is overwritten.

    \b
    chronicle init telecom && cd telecom
    chronicle init miles --example flyer
    """
    created = copy_example(example, directory)
    output.result(f"{example}: {EXAMPLES[example].about}")
    for path in created:
        output.result(f"  {path}")
    output.result("\nTry it:")
    if directory != Path():
        output.result(f"  cd {shlex.quote(str(directory))}")
    for step in ("chronicle check", *EXAMPLES[example].steps):
        output.result(f"  {step}")


def copy_example(example: str, directory: Path) -> list[Path]:
    """Writes the example's files into the directory; all of them, or none where one is there already."""
    sources = example_files(example)
    targets = [directory / source.name for source in sources]
    if taken := [str(target) for target in targets if target.exists() or target.is_symlink()]:
        verb = "is" if len(taken) == 1 else "are"
        raise ChronicleError(
            f"{', '.join(taken)} {verb} there already, and nothing was written",
            "name another directory: chronicle init DIR",
        )
    directory.mkdir(parents=True, exist_ok=True)
    for source, target in zip(sources, targets, strict=True):
        with target.open("xb") as file:
            file.write(source.read_bytes())
    return targets


def example_files(example: str) -> list[Traversable]:
    """The definition first, then its data."""
    found = [entry for entry in files("chronicle").joinpath("examples", example).iterdir() if entry.is_file()]
    return sorted(found, key=lambda entry: (entry.name != DEFAULT_FILE, entry.name))
