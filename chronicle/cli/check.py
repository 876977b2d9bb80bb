"""`chronicle check`: the verdict on every view. Exit 3 when anything is refused or wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options
from chronicle.errors import DefinitionError

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.check import Verdict, ViewVerdict


@click.command()
@project_options
@json_option
def command(project: Project, as_json: bool) -> int:
    """The verdict on every view of a definition.

    An admitted view has its class (SCA1, SCA-join, SCA) and a bound on what an append costs. A refused one has every
    reason, with the place, the theorem behind it and a fix. Exit 3 when anything is refused.

    \b
    chronicle check
    chronicle check -f chronicle.yaml -f more-views.yaml --json
    """
    verdict = project.check()
    if as_json:
        output.json_line(verdict_json(verdict))
    else:
        for line in verdict_lines(verdict):
            output.result(line)
    return 0 if is_clean(verdict) else DefinitionError.exit_code


def is_clean(verdict: Verdict) -> bool:
    return not verdict.errors and not any(view.refusals for view in verdict.views.values())


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The shape of the contract."""
    return {
        "views": {
            name: {
                "class": view.cls.value if view.cls is not None else None,
                "bound": bound_text(view) or None,
                "refusals": [fault.to_json() for fault in view.refusals],
            }
            for name, view in verdict.views.items()
        },
        "errors": [fault.to_json() for fault in verdict.errors],
    }


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """One line a view; then every fault, as a compiler would print it; then the sum."""
    width = max(map(len, verdict.views), default=0)
    for name, view in verdict.views.items():
        yield _view_line(name.ljust(width), view)
    found = [*verdict.errors, *(fault for view in verdict.views.values() for fault in view.refusals)]
    for fault in found:
        yield ""
        yield output.fault_text(fault)
    if found or not verdict.views:
        yield ""
        yield _sum(verdict)


def _view_line(name: str, view: ViewVerdict) -> str:
    if view.refusals:
        return f"{click.style('✗', fg='red')} {name}  {click.style('refused', fg='red', bold=True)}"
    if view.cls is None:
        return f"{click.style('?', fg='yellow')} {name}  not judged: faults outside it come first"
    return f"{click.style('✓', fg='green')} {name}  {view.cls.value:<8}  {bound_text(view)}"


def bound_text(view: ViewVerdict) -> str:
    return view.bound.text if view.bound is not None else ""


def _sum(verdict: Verdict) -> str:
    refused = sum(1 for view in verdict.views.values() if view.refusals)
    parts = [f"{refused} of {_counted(len(verdict.views), 'view')} refused"] if refused else []
    parts += [_counted(len(verdict.errors), "error")] if verdict.errors else []
    return ", ".join(parts) or "no views yet: nothing to refuse"


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
