"""YAML text to a tree of nodes that know where they stand.

Built from the C parser's events, not with `compose`: so duplicate keys are seen, nesting and alias expansion are
bounded (a bomb of anchors is a fault, not a hang), and scalars resolve as in YAML 1.2's core: true, false, null, whole
and decimal numbers, and text; never dates, yes/no or base 60.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from chronicle.definitions.source_text import SourceText
from chronicle.errors import Fault, did_you_mean

MAX_DEPTH = 64
MAX_WEIGHT = 1_000_000
_WEIGHT_CHARACTERS = 32

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """`text` is its value, `start` and `end` its extent in the source, `style` None (plain), ', ", | or >."""

    source: SourceText
    start: int
    end: int
    text: str
    style: str | None
    written: str | None = None  # what the file says, where an environment variable was put in


@dataclass(frozen=True, slots=True)
class Sequence:
    source: SourceText
    start: int
    end: int
    items: tuple[Node, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping: where it stands (after a merge, maybe in another file than the mapping), and its value."""

    source: SourceText
    start: int
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    source: SourceText
    start: int
    end: int
    entries: dict[str, Entry]
    weight: int


Node = Scalar | Sequence | Mapping
PlainValue = str | int | bool | Decimal | None | tuple["PlainValue", ...] | dict[str, "PlainValue"]


class _StopError(Exception):
    """Nothing more can be read after this fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.what)
        self.fault = fault


@dataclass(slots=True)
class _Builder:
    source: SourceText
    events: Iterator[Event]
    faults: list[Fault] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    weight: int = 0

    def stop(self, code: str, what: str, index: int, why: str = "", fix: str = "") -> _StopError:
        return _StopError(Fault(code, what, why, fix, self.source.place(index)))

    def grow(self, weight: int, index: int) -> int:
        self.weight += weight
        if self.weight > MAX_WEIGHT:
            raise self.stop(
                "CH004",
                "the definition is too large once its anchors are expanded",
                index,
                "what anchors and aliases expand to is bounded, so that checking any file ends soon",
                "write less with aliases, or split the definition",
            )
        return weight

    def node(self, event: Event, depth: int) -> Node:
        start = _begin(event)
        if isinstance(event, AliasEvent):
            return self.alias(str(event.anchor), start)
        if depth > MAX_DEPTH:
            raise self.stop("CH004", f"nested deeper than {MAX_DEPTH} levels", start, "no definition needs so many")
        if isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent) and event.tag is not None:
            raise self.stop(
                "CH005", f"the tag {shown(event.tag)} has no meaning here", start, fix="remove it; put text in quotes"
            )
        result: Node
        if isinstance(event, ScalarEvent):
            self.grow(weight_of_text(event.value), start)
            result = Scalar(self.source, start, _end(event), event.value, event.style or None)
        elif isinstance(event, SequenceStartEvent):
            result = self.sequence(start, depth)
        elif isinstance(event, MappingStartEvent):
            result = self.mapping(start, depth)
        else:
            raise self.stop("CH001", "a value was expected here", start)
        if event.anchor is not None:
            self.anchors[event.anchor] = result
        return result

    def alias(self, name: str, start: int) -> Node:
        if (node := self.anchors.get(name)) is None:
            raise self.stop(
                "CH005",
                f"the alias *{shown(name, quote=False)} has no anchor before it{did_you_mean(name, self.anchors)}",
                start,
                fix=f"write &{shown(name, quote=False)} before the value that it stands for",
            )
        self.grow(weight_of(node), start)
        return node

    def sequence(self, start: int, depth: int) -> Sequence:
        items: list[Node] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self.node(event, depth + 1))
        weight = sum(map(weight_of, items)) + self.grow(1, start)
        return Sequence(self.source, start, _end(event), tuple(items), weight)

    def mapping(self, start: int, depth: int) -> Mapping:
        entries: dict[str, Entry] = {}
        merged: list[tuple[int, Node]] = []
        weight = self.grow(1, start)
        while not isinstance(event := next(self.events), MappingEndEvent):
            at = _begin(event)
            key = self.node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise self.stop("CH005", "a key is a name, not a list or a mapping", at)
            value = self.node(next(self.events), depth + 1)
            weight += weight_of(value) + weight_of(key)
            if key.text == "<<" and key.style is None:
                merged.append((at, value))
            elif first := entries.get(key.text):
                self.faults.append(_twice(key.text, first, self.source, at))
            else:
                entries[key.text] = Entry(self.source, at, value)
        for at, value in merged:
            self.merge(entries, value, at)
        return Mapping(self.source, start, _end(event), entries, weight)

    def merge(self, entries: dict[str, Entry], value: Node, at: int) -> None:
        """`<<: *other`: the other's entries where this mapping has none of that name."""
        for part in value.items if isinstance(value, Sequence) else (value,):
            if not isinstance(part, Mapping):
                raise self.stop("CH005", "'<<' merges a mapping, or a list of mappings", at)
            self.grow(len(part.entries), at)
            for name, entry in part.entries.items():
                entries.setdefault(name, entry)


def parse_document(source: SourceText) -> tuple[Mapping | None, tuple[Fault, ...]]:
    """The one mapping that a definition file is, and what is wrong with the text of it."""
    loader = _LOADER(source.text)
    builder = _Builder(source, iter(loader.get_event, None))
    try:
        root = _root(builder)
    except _StopError as stop:
        return None, (*builder.faults, stop.fault)
    except yaml.YAMLError as error:
        return None, (*builder.faults, _syntax_fault(error, source))
    finally:
        loader.dispose()
    return root, tuple(builder.faults)


def _root(builder: _Builder) -> Mapping:
    next(builder.events)  # the stream's start
    event = next(builder.events)
    if isinstance(event, StreamEndEvent):
        raise builder.stop("CH006", "the file is empty", 0, fix="start one with: chronicle init")
    root = builder.node(next(builder.events), 1)
    next(builder.events)  # the document's end
    event = next(builder.events)
    if isinstance(event, DocumentStartEvent):
        raise builder.stop(
            "CH006", "a second document begins here", _begin(event), fix="give each its own file, each with -f"
        )
    if isinstance(root, Scalar) and resolve(root) is None:
        raise builder.stop("CH006", "the file is empty", root.start, fix="start one with: chronicle init")
    if not isinstance(root, Mapping):
        raise builder.stop(
            "CH006", f"a definition is a mapping such as 'chronicle: 1', not {describe(root)}", root.start
        )
    return root


def _begin(event: Event) -> int:
    """The index of its first character; the parsers always give a mark, though their types say they may not."""
    return event.start_mark.index if event.start_mark else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _twice(name: str, first: Entry, source: SourceText, at: int) -> Fault:
    return Fault(
        "CH003",
        f"{shown(name)} is given twice; the first stands at {first.source.place(first.start)}",
        "a name given twice would silently lose one of its meanings",
        "remove or rename one of them",
        source.place(at),
    )


def _syntax_fault(error: yaml.YAMLError, source: SourceText) -> Fault:
    if not isinstance(error, yaml.MarkedYAMLError):
        return Fault("CH001", f"not YAML: {_first_line(error)}", place=source.place(0))
    mark = error.problem_mark or error.context_mark
    index = mark.index if mark else 0
    what = f"not YAML: {error.problem or error.context or 'cannot be read'}"
    why = ""
    if error.context and error.problem and error.context_mark:
        why = f"{error.context} that begins at {source.place(error.context_mark.index)}"
    fix = ""
    if "\t" in source.place(index).source[: source.place(index).column]:
        fix = "indent with spaces, not with tabs"
    elif "mapping values are not allowed" in what:
        fix = "a value that contains ': ' needs quotes, and nested keys stand on lines of their own"
    elif "${" in source.place(index).source:
        fix = 'inside { } a ${NAME} needs quotes: "${NAME}"'
    return Fault("CH001", what, why, fix, source.place(index))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unreadable"])[0]


def weight_of_text(text: str) -> int:
    return 1 + len(text) // _WEIGHT_CHARACTERS


def weight_of(node: Node) -> int:
    return weight_of_text(node.text) if isinstance(node, Scalar) else node.weight


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?")


def resolve(scalar: Scalar) -> str | int | bool | Decimal | None:
    text = scalar.text
    if scalar.style is not None:
        return text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text[0] in "-+.0123456789":
        if _INT.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return Decimal(text)
    return text


def plain(node: Node) -> PlainValue:
    """The node's value in Python: text, numbers (exact), tuples and dicts."""
    match node:
        case Scalar():
            return resolve(node)
        case Sequence():
            return tuple(plain(item) for item in node.items)
        case Mapping():
            return {name: plain(entry.value) for name, entry in node.entries.items()}


def describe(node: Node) -> str:
    """What stands there, in words for a message; what an environment variable holds is never shown."""
    match node:
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar():
            text = node.text if node.written is None else node.written
            value = text if node.written is not None else resolve(node)
            if value is None:
                return "nothing"
            return shown(text) if isinstance(value, str) else f"{shown(text, quote=False)}"


def shown(text: str, *, quote: bool = True, limit: int = 60) -> str:
    """A piece of the user's text inside a message: on one line, and not long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return f"'{clean}'" if quote else clean
