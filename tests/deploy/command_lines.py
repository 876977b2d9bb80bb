"""Command lines of `chronicle` in documents, scripts and manifests, judged by the commands that are built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from chronicle.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_CALL = re.compile(r"(?:^|&& |\| |\$\(|-- |sudo -u \S+ )\s*(?:\S*/)?chronicle ((?:-f \S+ )?[a-z].*)")
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])")


def calls_in(markdown: str) -> Iterator[str]:
    """What follows `chronicle` in code blocks and in spans of code."""
    spans = [span for span in _SPAN.findall(_FENCE.sub("", markdown)) if span.startswith("chronicle ")]
    blocks = [line for block in _FENCE.findall(markdown) for line in block.replace("\\\n", " ").splitlines()]
    for line in [*blocks, *spans]:
        for part in re.split(r"(?=&& )|(?<!\\)(?=\| )|(?=\$\()", line.split(" #")[0]):
            if found := _CALL.match(part):
                yield found[1].strip()


def faults_of(call: str) -> list[str]:
    """What is wrong with the words after `chronicle`. A command of the contract that is not built yet is passed over:
    once its module is there, it is judged like the others."""
    name, *words = call.replace("\\|", " ").split()
    context = click.Context(cli)
    if name not in COMMANDS:
        return [f"there is no command {name}"]
    command = cli.get_command(context, name)
    if command is None:
        return []
    while isinstance(command, click.Group) and words:
        choices = [choice for choice in re.split(r"[|\[\]]", words.pop(0)) if choice]
        inner = [command.get_command(context, choice) for choice in choices]
        if None in inner:
            return [f"chronicle {name} has no {' or '.join(choices)}"]
        command = inner[0] or command
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    return [f"chronicle {name} has no {option}" for option in _OPTION.findall(" ".join(words)) if option not in known]
