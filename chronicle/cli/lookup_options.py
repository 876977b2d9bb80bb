"""What the commands that look rows up have in common: the key on the command line, and where the index is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.lookup import Views

local_option = click.option(
    "--local",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Read the index that `chronicle follow` keeps.",
)
"""Gives the command `local: str | None`."""


def open_views(project: Project, local: str | None = None) -> Views:
    from views.lookup import connect

    if local is not None and not Path(local, "meta.json").exists():
        raise NotFoundError(f"there is no index at {local}", f"`chronicle follow --local {local}` makes it")
    return connect(project, state=local)


def parse_key(arguments: tuple[str, ...], nulls: tuple[str, ...] = ()) -> dict[str, str | None]:
    """`caller=c1 kind=voice` as a mapping; the value may hold anything, also further equal signs."""
    key: dict[str, str | None] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise UsageError(f"'{argument}' is not key=value", "give every key column so: caller=c1")
        if name in key:
            raise UsageError(f"the key column {name} is given twice")
        key[name] = value
    for name in nulls:
        if name in key:
            raise UsageError(f"the key column {name} is given twice")
        key[name] = None
    return key
