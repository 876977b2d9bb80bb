"""`chronicle append`: validates lines by the definition and appends them; prints the token of the last append."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options
from chronicle.errors import NotFoundError, UsageError, did_you_mean

if TYPE_CHECKING:
    from chronicle.appends.intake import BadLine, Taken
    from chronicle.appends.lines import Line
    from chronicle.definitions import Definition
    from chronicle.project import Project

_SHOWN = 20
_LONG_BYTES = 8 << 20
"""A file from this size on gets a progress bar, on a terminal."""

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    help="How the lines are written; default: csv for a file named *.csv, otherwise jsonl.",
)
strict_option = click.option("--strict", is_flag=True, help="Append all lines or, where one is bad, none (exit 1).")
input_type = click.Path(exists=True, dir_okay=False, allow_dash=True)


@click.command("append")
@click.argument("arguments", nargs=-1, metavar="[CHRONICLE] [FILE]")
@click.option("--envelope", is_flag=True, help="Each line is a whole body: an envelope, or a tuple with _chronicle.")
@format_option
@strict_option
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    arguments: tuple[str, ...],
    envelope: bool,
    form: str | None,
    strict: bool,
    as_json: bool,
    project: Project,
) -> int:
    """Append the lines of FILE (default: stdin) to CHRONICLE.

    Bad lines are reported and journalled all the same; their fate is `malformed`. Prints the token of the last append.

    \b
    chronicle append calls calls.jsonl
    chronicle append --envelope bodies.jsonl
    """
    name, path = _arguments(ctx, arguments, envelope)
    if envelope and form == "csv":
        raise click.UsageError("--envelope takes JSON lines; CSV cannot hold an envelope", ctx)
    if name is not None:
        _check_chronicle(project, name)
    return append_lines(project, name, path, form, strict=strict, as_json=as_json)


def _arguments(ctx: click.Context, arguments: tuple[str, ...], envelope: bool) -> tuple[str | None, str]:
    wanted = 1 if envelope else 2
    if len(arguments) > wanted:
        raise click.UsageError(f"unexpected argument '{arguments[wanted]}'", ctx)
    if not envelope and not arguments:
        raise click.UsageError("missing argument CHRONICLE (or --envelope)", ctx)
    name = None if envelope else arguments[0]
    path = arguments[wanted - 1] if len(arguments) == wanted else "-"
    input_type.convert(path, None, ctx)
    return name, path


def _check_chronicle(project: Project, name: str) -> None:
    from chronicle.appends.target import appendable

    definition = appendable(project)
    if name in definition.relations:
        raise UsageError(f"'{name}' is a relation, not a chronicle", f"chronicle upsert {name} FILE")
    if name not in definition.chronicles:
        raise NotFoundError(f"there is no chronicle '{name}'{did_you_mean(name, definition.chronicles)}")


def append_lines(
    project: Project, name: str | None, path: str, form: str | None, *, strict: bool, as_json: bool
) -> int:
    """Appends a file's lines for the chronicle or relation `name`, and says what became of them."""
    from chronicle.appends import decoder_of
    from chronicle.appends.intake import take, take_all_or_nothing
    from chronicle.appends.target import appendable, open_target

    definition = appendable(project)
    shown = "stdin" if path == "-" else path
    with _opened(path) as file, _progress(file, shown) as advance:
        groups = _groups(definition, name, file, form or ("csv" if path.endswith(".csv") else "jsonl"))
        reporter = _Reporter(shown, advance)
        target = open_target(project)
        try:
            taking = take_all_or_nothing if strict else take
            taken = taking(groups, name, decoder_of(definition), target, reporter)
        finally:
            target.close()
    return _conclude(taken, strict=strict, as_json=as_json)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    if path == "-":
        yield sys.stdin.fileno()
        return
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def _groups(definition: Definition, name: str | None, file: int, form: str) -> Iterator[list[Line]]:
    from chronicle.appends.lines import csv_lines, json_lines
    from chronicle.types import STRING, Column

    if form == "jsonl" or name is None:
        return json_lines(file)
    if name in definition.chronicles:
        chronicle = definition.chronicles[name]
        return csv_lines(file, chronicle.columns, {}, chronicle.strict)
    change = {field: Column(field, STRING, nullable=True) for field in ("_op", "_from")}
    return csv_lines(file, definition.relations[name].columns, change)


class _Reporter:
    """Reports bad lines as they are found, the first of them only: a wrong file is all bad lines."""

    def __init__(self, shown: str, advance: Callable[[int], None]) -> None:
        self._shown = shown
        self._advance = advance
        self._count = 0

    def __call__(self, lines: Sequence[Line], bad: Sequence[BadLine]) -> None:
        for line in bad[: max(_SHOWN - self._count, 0)]:
            output.message(f"{self._shown}:{line.number}: {line.reason}")
        self._count += len(bad)
        self._advance(sum(len(line.value) + 1 for line in lines))


def _conclude(taken: Taken, *, strict: bool, as_json: bool) -> int:
    bad = len(taken.bad)
    if bad > _SHOWN:
        output.message(f"... and {bad - _SHOWN:,} more bad lines")
    refused = strict and bad > 0
    if as_json:
        lines = [{"line": line.number, "reason": line.reason} for line in taken.bad]
        token = None if taken.token is None else str(taken.token)
        output.json_line({"token": token, "appended": taken.appended, "malformed": bad, "bad_lines": lines})
    elif taken.token is not None:
        output.result(str(taken.token))
    if refused:
        output.failure(f"nothing was appended: {bad:,} bad {_lines(bad)}", "correct them, or leave out --strict")
    elif taken.token is None:
        output.message("nothing to append")
    else:
        malformed = f"; {bad:,} of them will have the fate malformed" if bad else ""
        output.message(f"{taken.appended:,} appended{malformed}")
    return 1 if refused else 0


def _lines(count: int) -> str:
    return "line" if count == 1 else "lines"


@contextmanager
def _progress(file: int, shown: str) -> Iterator[Callable[[int], None]]:
    """A bar on stderr for a long file, where someone is looking."""
    size = os.fstat(file).st_size
    if not sys.stderr.isatty() or size < _LONG_BYTES:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(Path(shown).name, total=size)
        yield lambda done: progress.advance(task, done)
