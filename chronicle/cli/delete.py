"""`chronicle delete`: ends the row of a relation's key, from an instant on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options, utf8
from chronicle.cli.upsert import relation_of
from chronicle.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from chronicle.definitions import RelationDefinition
    from chronicle.project import Project


@click.command("delete")
@click.argument("relation")
@click.argument("key", nargs=-1, required=True, metavar="KEY=VALUE...")
@click.option("--from", "valid_from", metavar="T", help="From when on the row is gone; default: when this is appended.")
@json_option
@project_options
def command(relation: str, key: tuple[str, ...], valid_from: str | None, as_json: bool, project: Project) -> int:
    """Delete the row of RELATION with this key. Prints the token of the append.

    \b
    chronicle delete customers number=c1 --from 2026-04-01T04:00:00Z
    """
    from chronicle.appends import Malformed, decoder_of
    from chronicle.appends.target import appendable, open_target

    value = _body(relation_of(project, relation), _pairs(key), valid_from)
    try:
        decoder_of(appendable(project)).decode(value, (("chronicle", relation.encode()),), 0)
    except Malformed as error:
        raise UsageError(error.reason.replace("_from:", "--from:", 1)) from None
    target = open_target(project)
    try:
        token = str(target.append(relation, [value]))
    finally:
        target.close()
    if as_json:
        output.json_line({"token": token})
    else:
        output.result(token)
    return 0


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = utf8(text).partition("=")
        if not equals or not name:
            raise UsageError(f"'{text}' is not KEY=VALUE")
        if name in pairs:
            raise UsageError(f"'{name}' is given twice")
        pairs[name] = value
    return pairs


def _body(relation: RelationDefinition, pairs: dict[str, str], valid_from: str | None) -> bytes:
    from chronicle.appends.cells import cell_of, quoted

    for name in pairs:
        if name not in relation.key:
            raise UsageError(f"'{name}' is no key column{did_you_mean(name, relation.key)}")
    if missing := [name for name in relation.key if name not in pairs]:
        raise UsageError(f"the key is {', '.join(relation.key)}; missing: {', '.join(missing)}")
    fields = ['"_op":"delete"']
    if valid_from is not None:
        fields.append(f'"_from":{quoted(utf8(valid_from))}')
    fields += [f"{quoted(name)}:{cell_of(relation.columns[name])(text)}" for name, text in pairs.items()]
    return f"{{{','.join(fields)}}}".encode()
