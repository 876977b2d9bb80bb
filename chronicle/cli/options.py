"""Options that commands share: `-f FILE`, `--state DIR`, `--json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chronicle.errors import UsageError

if TYPE_CHECKING:
    from chronicle.project import Project

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT_FILE = "chronicle.yaml"

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout, nothing else.")
"""Gives the command `as_json: bool`."""

file_option = click.option(
    "-f",
    "--file",
    "files",
    type=click.Path(),
    multiple=True,
    default=(DEFAULT_FILE,),
    metavar="FILE",
    help=f"The definition (default {DEFAULT_FILE}); several are merged by name.",
)
"""Gives the command `files: tuple[str, ...]`."""

state_option = click.option(
    "--state",
    type=click.Path(),
    metavar="DIR",
    help="The state's directory, or s3://BUCKET/PREFIX with the Delta store, instead of the definition's.",
)
"""Gives the command `state: str | None`."""


def project_options(function: Function) -> Callable[..., Any]:
    """`-f` and `--state`, handed to the command as `project: Project`; the files are read at once, not yet checked."""

    @file_option
    @state_option
    @wraps(function)
    def with_project(*args: Any, files: tuple[str, ...], state: str | None, **options: Any) -> Any:
        return function(*args, project=open_project(files, state), **options)

    return with_project


def open_project(files: tuple[str, ...], state: str | None = None) -> Project:
    from chronicle.project import Project

    return Project.load(files, state=state)


def utf8(argument: str) -> str:
    """An argument that becomes part of a document; a file's name may be any bytes, a document's text may not."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument!r} is not UTF-8") from None
    return argument
