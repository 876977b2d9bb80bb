"""`chronicle schema`: the JSON Schema of the definition file."""

from __future__ import annotations

import json

import click

from chronicle.cli import output


@click.command()
def command() -> None:
    """The JSON Schema of the definition file, so that editors complete and check it.

    \b
    chronicle schema > chronicle.schema.json
    # then, as the first line of chronicle.yaml:
    # yaml-language-server: $schema=chronicle.schema.json
    """
    from chronicle.definitions.json_schema import json_schema

    output.result(json.dumps(json_schema(), indent=2, ensure_ascii=False))
