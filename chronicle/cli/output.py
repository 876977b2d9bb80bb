"""How commands speak: results on stdout, messages on stderr, faults as a compiler prints them.

Colour only where the stream is a terminal that has it, without NO_COLOR. JSON is one document a line, text as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import click

from chronicle.errors import Fault

_INDENT = " " * 8


def printable(text: str) -> str:
    """Text from a chronicle for a terminal: control characters, which could steer it, are written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def result(text: str) -> None:
    """A line (or several) of the answer."""
    click.echo(text, color=_colour())


def json_line(value: Any) -> None:
    """One JSON document on a line of its own."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def message(text: str) -> None:
    """Something that is not the answer: goes to stderr."""
    click.echo(text, err=True, color=_colour())


def warning(text: str, hint: str = "") -> None:
    message(_headed("warning", "yellow", text, hint))


def failure(text: str, hint: str = "") -> None:
    """Why a command ends without its answer, and what to do now."""
    message(_headed("error", "red", text, hint))


def usage(error: click.ClickException) -> None:
    """A wrong command line: what is wrong, and where its help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    help_at = f"see: {context.command_path} --help" if context is not None else ""
    failure(error.format_message().rstrip("."), help_at)


def faults(found: Iterable[Fault]) -> None:
    """Faults that keep a command from its work."""
    for fault in found:
        message(fault_text(fault))


def fault_text(fault: Fault) -> str:
    """A fault as a compiler would print it: place, code, what; the line with a caret; why; fix."""
    place = fault.place
    where = f"{click.style(str(place), bold=True)}: " if place else ""
    lines = [f"{where}{click.style(fault.code, fg='red', bold=True)}: {fault.what}"]
    if place and place.source:
        source, caret = place.caret().split("\n", 1)
        lines += [source, click.style(caret, fg="red")]
    lines += _part("why", fault.why)
    lines += _part("fix", fault.fix, colour="green")
    return "\n".join(lines)


def _part(name: str, text: str, colour: str | None = None) -> list[str]:
    """`why: one line`, or the heading with the lines of a block under it."""
    if not text:
        return []
    heading = f"  {click.style(name, fg=colour, bold=True)}: "
    if "\n" not in text.strip():
        return [f"{heading}{text.strip()}"]
    return [heading.rstrip(), *(f"{_INDENT}{line}".rstrip() for line in text.strip("\n").splitlines())]


def _headed(heading: str, colour: str, text: str, hint: str) -> str:
    first = f"{click.style(heading, fg=colour, bold=True)}: {text}"
    return f"{first}\n  {hint}" if hint else first


def _colour() -> bool | None:
    """False forbids colour; None lets click see whether the stream is a terminal."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
