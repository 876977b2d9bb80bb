"""From a path in the definition (and an offset inside a text) to a place in the file.

`views / usage / sql, offset 120` must point at the right line and column, whether the text is plain, quoted or a
block. All of YAML's forms keep the characters that are not white space, in order, so the n-th such character of the
value is the n-th of the source, escapes of quoted forms aside.
"""

from __future__ import annotations

from chronicle.definitions.document import Entry, Mapping, Node, Scalar, Sequence
from chronicle.errors import Place

Path = tuple[str | int, ...]


def place_of(root: Node, path: Path, offset: int | None = None) -> Place:
    """The value at `path`; its key, where it is a mapping or a list; what encloses it, where it is missing."""
    node, entry, reached = _walk(root, path)
    if isinstance(node, Scalar):
        if not reached or offset is None:
            return node.source.place(node.start)
        return node.source.place(_index(node, offset))
    if entry is not None:
        return entry.source.place(entry.start)
    return node.source.place(node.start)


def key_place_of(root: Node, path: Path) -> Place:
    """The key that ends `path`."""
    node, entry, _ = _walk(root, path)
    return entry.source.place(entry.start) if entry is not None else node.source.place(node.start)


def node_at(root: Node, path: Path) -> Node | None:
    node, _, reached = _walk(root, path)
    return node if reached else None


def _walk(root: Node, path: Path) -> tuple[Node, Entry | None, bool]:
    node, entry = root, None
    for part in path:
        if isinstance(node, Mapping) and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node = entry.value
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node, entry = node.items[part], None
        elif isinstance(node, Scalar) and part == 0:
            continue  # `group_by: caller` stands for a list of one
        else:
            return node, entry, False
    return node, entry, True


def _index(scalar: Scalar, offset: int) -> int:
    offset = max(0, min(offset, len(scalar.text)))
    if scalar.written is not None:
        return scalar.start
    at_end = offset == len(scalar.text)
    seen = sum(1 for c in scalar.text[:offset] if not c.isspace())
    last = scalar.start
    for index, character in _characters(scalar):
        if character.isspace():
            continue
        if seen == 0:
            return index
        seen -= 1
        last = index
    return last + 1 if at_end else last


def _characters(scalar: Scalar) -> list[tuple[int, str]]:
    """The characters of the value as they stand in the source: (index, the character that it stands for)."""
    text, start, end = scalar.source.text, scalar.start, scalar.end
    match scalar.style:
        case "'":
            return _single_quoted(text, start + 1, end - 1)
        case '"':
            return _double_quoted(text, start + 1, end - 1)
        case "|" | ">":
            header = text.find("\n", start, end)
            start = end if header < 0 else header + 1
    return [(index, text[index]) for index in range(start, end)]


def _single_quoted(text: str, start: int, end: int) -> list[tuple[int, str]]:
    found = []
    index = start
    while index < end:
        found.append((index, text[index]))
        index += 2 if text.startswith("''", index) else 1
    return found


_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_WHITE_ESCAPES = frozenset("tnvfr \t_NLP")


def _double_quoted(text: str, start: int, end: int) -> list[tuple[int, str]]:
    found = []
    index = start
    while index < end:
        if text[index] != "\\":
            found.append((index, text[index]))
            index += 1
            continue
        kind = text[index + 1]
        digits = _HEX_ESCAPES.get(kind, 0)
        if digits:
            found.append((index, chr(int(text[index + 2 : index + 2 + digits], 16))))
        elif kind in _WHITE_ESCAPES:
            found.append((index, " "))
        elif kind not in "\r\n":
            found.append((index, kind if kind in '"\\/' else "x"))
        index += 2 + digits
    return found
