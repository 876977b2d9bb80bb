"""What the parser and the checker found: collected, never raised, each with its spot and the edit that repairs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from views.parse.codes import Code

Path = tuple[str | int, ...]

MAX_FINDINGS = 100
"""Of one view. More help nobody, and a hostile file could ask for thousands."""


@dataclass(slots=True)
class Draft:
    """The view as it will be proposed: repairs edit the syntax tree that `query` is, and the other parts here."""

    name: str
    query: exp.Expr | None
    period: dict[str, Any] | None = None
    derive: dict[str, Any] = field(default_factory=dict)
    instead: dict[str, exp.Expr] | None = None
    """Several views, by name, that take the place of one."""


Repair = Callable[[Draft], None]
"""Edits the draft so that the finding is gone; run after parsing, once for each finding."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the definition: the path of a value, and the offset inside its text."""

    path: Path
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    what: str
    why: str
    spot: Spot
    remark: str = ""
    repair: Repair | None = None


@dataclass(slots=True)
class Report:
    """Collects findings; the same thing at the same spot is said once."""

    findings: list[Finding] = field(default_factory=list)
    unsaid: int = 0
    """How many more there are than MAX_FINDINGS."""
    _said: set[tuple[str, str, Spot]] = field(default_factory=set)

    def add(self, code: Code, what: str, spot: Spot, repair: Repair | None = None) -> None:
        self.put(Finding(code.code, what, code.why, spot, code.remark, repair))

    def put(self, finding: Finding) -> None:
        said = finding.code, finding.what, finding.spot
        if said in self._said:
            return
        self._said.add(said)
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)
        else:
            self.unsaid += 1


def spot_of(node: exp.Expr) -> Spot:
    """Where a node of a syntax tree stands: at the first of its tokens whose position is known."""
    path, offset = _of(node)
    if offset is None:
        found = [start for part in node.walk() if (start := part.meta.get("start")) is not None]
        offset = min(found, default=None)
    above = node
    while path is None and above.parent is not None:
        above = above.parent
        path = above.meta.get("path")
    return Spot(path or (), offset)


def _of(node: exp.Expr) -> tuple[Path | None, int | None]:
    path = node.meta.get("path")
    if path is None:
        path = next((part.meta["path"] for part in node.walk() if "path" in part.meta), None)
    return path, node.meta.get("start")
