"""`chronicle upsert`: changes of a relation, each line an append of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chronicle.cli.append import append_lines, format_option, input_type, strict_option
from chronicle.cli.options import json_option, project_options
from chronicle.errors import NotFoundError, UsageError, did_you_mean

if TYPE_CHECKING:
    from chronicle.definitions import RelationDefinition
    from chronicle.project import Project


@click.command("upsert")
@click.argument("relation")
@click.argument("path", metavar="[FILE]", type=input_type, default="-")
@format_option
@strict_option
@json_option
@project_options
def command(relation: str, path: str, form: str | None, strict: bool, as_json: bool, project: Project) -> int:
    """Append the changes of RELATION in FILE (default: stdin).

    Each line has the relation's columns, and may have _from (a timestamp: from when on the row is valid; default: when
    it is appended) and _op (upsert, or delete with the key only). Prints the token of the last append.

    \b
    echo '{"number": "c1", "state": "NJ", "_from": "2026-03-01T05:00:00Z"}' | chronicle upsert customers
    """
    relation_of(project, relation)
    return append_lines(project, relation, path, form, strict=strict, as_json=as_json)


def relation_of(project: Project, name: str) -> RelationDefinition:
    from chronicle.appends.target import appendable

    definition = appendable(project)
    if name in definition.chronicles:
        raise UsageError(f"'{name}' is a chronicle, not a relation", f"chronicle append {name} FILE")
    if name not in definition.relations:
        raise NotFoundError(f"there is no relation '{name}'{did_you_mean(name, definition.relations)}")
    return definition.relations[name]
