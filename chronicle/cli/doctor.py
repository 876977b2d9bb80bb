"""`chronicle doctor`: is this machine ready? Every finding that is not fine says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.cli import machine, output
from chronicle.cli.machine import Finding, Status
from chronicle.cli.options import DEFAULT_FILE, json_option, open_project
from chronicle.errors import ChronicleError, DefinitionError

if TYPE_CHECKING:
    from views.state.storage import Storage

_MARKS = {
    Status.OK: click.style("✓", fg="green"),
    Status.OPTIONAL: click.style("-", fg="yellow"),
    Status.FAILED: click.style("✗", fg="red"),
}


@click.command()
@click.option(
    "-f", "--file", "files", type=click.Path(), multiple=True, metavar="FILE", help="The definition, if there is one."
)
@click.option("--state", type=click.Path(), metavar="DIR", help="The state directory, instead of the definition's.")
@json_option
def command(files: tuple[str, ...], state: str | None, as_json: bool) -> int:
    """Java, jars, versions, permissions and disk, with the fix for each. Exit 1 when something needed is missing.

    \b
    chronicle doctor
    chronicle doctor -f chronicle.yaml --json
    """
    findings = [*machine.findings(), *definition_findings(files, state)]
    ready = all(finding.status is not Status.FAILED for finding in findings)
    if as_json:
        output.json_line({"ready": ready, "findings": [finding.to_json() for finding in findings]})
    else:
        show(findings)
        output.result("\nready" if ready else "\nnot ready: see the fixes above")
    return 0 if ready else ChronicleError.exit_code


def show(findings: Iterable[Finding]) -> None:
    listed = list(findings)
    width = max(len(finding.name) for finding in listed)
    for finding in listed:
        output.result(f"{_MARKS[finding.status]} {finding.name.ljust(width)}  {finding.found}")
        if finding.fix:
            output.result(f"  {' ' * width}  {click.style('fix', bold=True)}: {finding.fix}")


def _state(home: Storage) -> Finding:
    """An object store answers, which is all that can be known without writing; its indexes lie on this machine."""
    from views.state.directory import Directory

    if isinstance(home, Directory):
        return machine.disk("state", home.path)
    try:
        there = home.stamp("meta.json") is not None
    except ChronicleError as error:
        return Finding("state", Status.FAILED, error.message, error.hint)
    room = machine.disk("state", home.own)
    found = f"{home}: {'there' if there else 'answers, and has no state yet'}; indexes in {room.found}"
    return Finding("state", room.status, found, room.fix)


def definition_findings(files: tuple[str, ...], state: str | None) -> list[Finding]:
    """What the definition at hand needs; where none is named and none is here, only this directory is looked at."""
    if not files and not Path(DEFAULT_FILE).exists():
        here = Finding("definition", Status.OPTIONAL, f"no {DEFAULT_FILE} here", "start one with: chronicle init")
        return [here, machine.disk("directory", Path())]
    named = files or (DEFAULT_FILE,)
    shown = ", ".join(named)
    try:
        project = open_project(named, state)
        definition = project.definition
    except DefinitionError as error:
        faulty = f"{shown} has {len(error.faults)} fault{'s' * (len(error.faults) > 1)}"
        return [Finding("definition", Status.FAILED, faulty, f"see them with: chronicle check -f {named[0]}")]
    except ChronicleError as error:
        return [Finding("definition", Status.FAILED, error.message, error.hint)]
    read = Finding("definition", Status.OK, f"{shown}: group '{definition.name}', {len(definition.views)} views")
    found = [read, _state(project.home)]
    if (journal := project.journal_path) is not None:
        return [*found, machine.disk("journal", journal)]
    return found
