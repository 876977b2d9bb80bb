"""Files to a Definition: read, parse, merge, put in the environment, check the shape, check the parts together.

Never stops at the first fault. Faults inside a view are kept apart (`view_faults`): that view is left out, and the
others can still be checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from collections.abc import Mapping as Environment
from collections.abc import Sequence as Files
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from pydantic import ValidationError

from chronicle.definitions.consistency import (
    Calendars,
    Finding,
    chronicle_faults,
    name_faults,
    read_calendars,
    relation_faults,
)
from chronicle.definitions.document import Mapping, PlainValue, parse_document, plain
from chronicle.definitions.environment import substitute
from chronicle.definitions.merge import merge
from chronicle.definitions.models import Definition
from chronicle.definitions.positions import Path, key_place_of, place_of
from chronicle.definitions.shape import shape_faults
from chronicle.definitions.source_text import SourceText, decode_source, read_source
from chronicle.errors import Fault, Place, UsageError


@dataclass(frozen=True, slots=True)
class Loaded:
    """A definition as far as it could be read.

    `definition` is None when something outside the views is wrong (an unknown key aside, which is left out); it holds
    the views without faults. `faults` are those outside views, `view_faults` those inside, by the view's name.
    """

    files: tuple[FilePath, ...]
    definition: Definition | None
    faults: tuple[Fault, ...] = ()
    view_faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    calendars: Calendars = field(default_factory=dict)
    root: Mapping | None = field(default=None, repr=False)

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        return (*self.faults, *(fault for faults in self.view_faults.values() for fault in faults))

    @property
    def directory(self) -> FilePath:
        """What relative paths of the definition are relative to."""
        return self.files[0].parent

    def place(self, path: Path, offset: int | None = None) -> Place:
        """Where the value at `path` stands; with `offset`, where that character of its text stands."""
        return place_of(self.root, path, offset) if self.root else self._top()

    def key_place(self, path: Path) -> Place:
        """Where the last key of `path` stands."""
        return key_place_of(self.root, path) if self.root else self._top()

    def _top(self) -> Place:
        return Place(str(self.files[0]), 1, 1)


def load(paths: str | FilePath | Files[str | FilePath], *, environment: Environment[str, str] | None = None) -> Loaded:
    """Reads a definition from one or more files. Only a file that cannot be read raises (UsageError)."""
    given = [paths] if isinstance(paths, str | FilePath) else list(paths)
    if not given:
        raise UsageError("no definition file is named", "name one with -f FILE")
    files = tuple(FilePath(path) for path in given)
    return _load(files, [read_source(file, str(path)) for file, path in zip(files, given, strict=True)], environment)


def load_text(
    text: str | bytes, file: str = "chronicle.yaml", *, environment: Environment[str, str] | None = None
) -> Loaded:
    """Reads a definition that is not in a file yet; `file` is what places call it."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return _load((FilePath(file),), [decode_source(raw, file)], environment)


def _load(
    files: tuple[FilePath, ...], sources: Files[SourceText | Fault], environment: Environment[str, str] | None
) -> Loaded:
    faults = [source for source in sources if isinstance(source, Fault)]
    documents: list[Mapping] = []
    for source in sources:
        if isinstance(source, SourceText):
            document, found = parse_document(source)
            faults.extend(found)
            if document is not None:
                documents.append(document)
    if len(documents) < len(files):
        return Loaded(files, None, tuple(faults), root=documents[0] if documents else None)
    merged, found = merge(documents)
    faults.extend(found)
    root, found = substitute(merged, os.environ if environment is None else environment)
    faults.extend(found)
    return _validate(files, root, faults)


def _validate(files: tuple[FilePath, ...], root: Mapping, faults: list[Fault]) -> Loaded:
    """`faults` are of the text (a key twice, a variable that is not set): the definition is not to be trusted then."""
    value = plain(root)
    assert isinstance(value, dict)
    findings: list[Finding] = []
    dropped: set[Path] = set()
    definition = _shaped(value, root, findings)
    if definition is None:
        dropped = _drop_faulty(value, findings)
        definition = _shaped(_STAND_IN | {key: part for key, part in value.items() if part}, root, [])
    calendars: Calendars = {}
    if definition is not None:
        found, calendars = _consistent(definition, root, frozenset(dropped))
        findings.extend(found)
    view_faults: dict[str, tuple[Fault, ...]] = {}
    whole = not faults
    for path, fault in findings:
        if path[:1] == ("views",) and len(path) > 1:
            view = str(path[1])
            view_faults[view] = (*view_faults.get(view, ()), fault)
        else:
            faults.append(fault)
            whole = whole and fault.code == "CH201" and len(path) == 1
    if definition is not None and view_faults:
        kept = {name: view for name, view in definition.views.items() if name not in view_faults}
        definition = definition.model_copy(update={"views": kept})
    by_view = {view: _in_order(found) for view, found in view_faults.items()}
    return Loaded(files, definition if whole else None, _in_order(faults), by_view, calendars, root)


def _in_order(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """As a reader of the file meets them."""
    return tuple(sorted(faults, key=lambda fault: (fault.place.line, fault.place.column) if fault.place else (0, 0)))


_STAND_IN: dict[str, PlainValue] = {
    "chronicle": 1,
    "name": "unnamed",
    "chronicles": {"left_out": {"columns": {"at": "timestamp"}}},
}
"""For what is missing or faulty, so that the other parts are checked in the same go; never part of what is returned."""


def _shaped(value: dict[str, PlainValue], root: Mapping, findings: list[Finding]) -> Definition | None:
    try:
        return Definition.model_validate(value)
    except ValidationError as error:
        findings.extend(shape_faults(error, root))
        return None


def _consistent(definition: Definition, root: Mapping, left_out: frozenset[Path]) -> tuple[list[Finding], Calendars]:
    def place(path: Path) -> Place:
        return place_of(root, path)

    calendars, findings = read_calendars(definition, place, left_out)
    for find in (chronicle_faults, relation_faults, name_faults):
        findings.extend(find(definition, place))
    return findings, calendars


def _drop_faulty(value: dict[str, PlainValue], findings: list[Finding]) -> set[Path]:
    """Leaves out the named parts (and unknown top-level keys) that have faults, so that the rest can be checked too."""
    dropped: set[Path] = set()
    for path, _ in findings:
        if len(path) >= 2 and isinstance(section := value.get(str(path[0])), dict):
            section.pop(str(path[1]), None)
            dropped.add(path[:2])
        elif len(path) == 1:
            value.pop(str(path[0]), None)
    return dropped
