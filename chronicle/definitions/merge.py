"""Several files as one definition: chronicles, relations, calendars and views merge by name.

A name given twice is a fault that says both places.
"""

from __future__ import annotations

from collections.abc import Sequence as Documents

from chronicle.definitions.document import Entry, Mapping, Scalar, describe, shown
from chronicle.errors import Fault

NAMED = ("chronicles", "relations", "calendars", "views")
_MAY_REPEAT = ("chronicle", "name")


def merge(documents: Documents[Mapping]) -> tuple[Mapping, tuple[Fault, ...]]:
    first, *others = documents
    if not others:
        return first, ()
    entries = dict(first.entries)
    faults: list[Fault] = []
    for document in others:
        for key, entry in document.entries.items():
            if key not in entries:
                entries[key] = entry
            elif key in NAMED:
                entries[key] = _merge_named(entries[key], entry, faults)
            elif key not in _MAY_REPEAT or not _same(entries[key], entry):
                faults.append(_twice(key, entries[key], entry))
    return Mapping(first.source, first.start, first.end, entries, first.weight), tuple(faults)


def _merge_named(mine: Entry, other: Entry, faults: list[Fault]) -> Entry:
    if not isinstance(mine.value, Mapping):
        return other
    if not isinstance(other.value, Mapping):
        return mine
    entries = dict(mine.value.entries)
    for name, entry in other.value.entries.items():
        if name in entries:
            faults.append(_twice(name, entries[name], entry))
        else:
            entries[name] = entry
    value = Mapping(mine.value.source, mine.value.start, mine.value.end, entries, mine.value.weight)
    return Entry(mine.source, mine.start, value)


def _same(mine: Entry, other: Entry) -> bool:
    """The format version and the group's name may stand in every file, where they agree."""
    return isinstance(mine.value, Scalar) and isinstance(other.value, Scalar) and mine.value.text == other.value.text


def _twice(name: str, mine: Entry, other: Entry) -> Fault:
    values = ""
    if name in _MAY_REPEAT:
        values = f" ({describe(mine.value)} there, {describe(other.value)} here)"
    return Fault(
        "CH007",
        f"{shown(name)} is given twice{values}; the first stands at {mine.source.place(mine.start)}",
        "files are merged by name, and a name has one meaning",
        "remove or rename one of them",
        other.source.place(other.start),
    )
