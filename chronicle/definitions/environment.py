"""`${NAME}` and `${NAME:default}` inside `source`, from the environment.

The file's own text is kept beside the value, and only that is ever shown: a password does not reach a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Environment

from chronicle.definitions.document import Entry, Mapping, Node, Scalar, Sequence
from chronicle.errors import Fault, did_you_mean

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::(?P<default>[^}]*))?\}")


def substitute(root: Mapping, environment: Environment[str, str]) -> tuple[Mapping, tuple[Fault, ...]]:
    """The tree with variables put in, in the group's `source` and in those of its relations."""
    faults: list[Fault] = []

    def fill(node: Node) -> Node:
        match node:
            case Scalar():
                return _fill_text(node, environment, faults)
            case Sequence(source, start, end, items, weight):
                return Sequence(source, start, end, tuple(fill(item) for item in items), weight)
            case Mapping():
                return _with_values(node, {name: fill(entry.value) for name, entry in node.entries.items()})

    changed: dict[str, Node] = {}
    if source := root.entries.get("source"):
        changed["source"] = fill(source.value)
    relations = root.entries.get("relations")
    if relations and isinstance(relations.value, Mapping):
        filled: dict[str, Node] = {}
        for name, entry in relations.value.entries.items():
            if isinstance(entry.value, Mapping) and (source := entry.value.entries.get("source")):
                filled[name] = _with_values(entry.value, {"source": fill(source.value)})
        changed["relations"] = _with_values(relations.value, filled)
    return _with_values(root, changed), tuple(faults)


def _with_values(node: Mapping, values: dict[str, Node]) -> Mapping:
    entries = {
        name: Entry(entry.source, entry.start, values[name]) if name in values else entry
        for name, entry in node.entries.items()
    }
    return Mapping(node.source, node.start, node.end, entries, node.weight)


def _fill_text(scalar: Scalar, environment: Environment[str, str], faults: list[Fault]) -> Scalar:
    if "${" not in scalar.text:
        return scalar

    def value_of(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        value = environment.get(name, default)
        if value is None:
            near = did_you_mean(name, environment) if len(environment) > 12 else ""
            faults.append(
                Fault(
                    "CH008",
                    f"the environment variable {name} is not set{near}",
                    "source names it and gives no default",
                    f"set it, or write ${{{name}:default}}",
                    scalar.source.place(scalar.start),
                )
            )
            return ""
        return value

    text = _REFERENCE.sub(value_of, scalar.text)
    if "${" in _REFERENCE.sub("", scalar.text):
        faults.append(
            Fault(
                "CH008",
                "'${' begins the name of an environment variable, which does not follow",
                fix="write ${NAME} or ${NAME:default}",
                place=scalar.source.place(scalar.start),
            )
        )
    return Scalar(scalar.source, scalar.start, scalar.end, text, '"', written=scalar.text)
