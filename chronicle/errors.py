"""What can go wrong, said so that a person can act on it: what, where, why, and what to do.

A `Fault` is a finding about a definition (an error or a refusal of the checker), with its place. The exceptions
carry the exit code of the contract: 1 failed, 2 usage, 3 refused by the checker, 4 not found.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

EXCERPT = 100
"""How many characters of a long line are shown on a side of the caret."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands; line and column count from 1.

    `source` is that line's text; of a long line, only what stands around the place, after `cut` characters."""

    file: str
    line: int
    column: int
    source: str = ""
    cut: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def caret(self) -> str:
        """The source line with a caret under the column; of a long line, what stands around it."""
        at = min(self.column - 1 - self.cut, len(self.source))
        begin = 0 if at < EXCERPT else at - EXCERPT // 2
        before = ("…" if begin or self.cut else "") + self.source[begin:at]
        rest = self.source[at : at + EXCERPT]
        after = rest + ("…" if at + EXCERPT < len(self.source) else "")
        gutter = f"{self.line:>5} | "
        # A tab stays a tab under itself, so that the caret stands right however wide the terminal shows it.
        blank = "".join("\t" if character == "\t" else " " for character in before)
        return f"{gutter}{before}{after}\n{' ' * (len(gutter) - 2)}| {blank}^"


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding: a stable code, what was found, why it cannot be, and a fix that is valid when pasted."""

    code: str
    what: str
    why: str = ""
    fix: str = ""
    place: Place | None = None

    def to_json(self) -> dict[str, str | int | None]:
        place = self.place
        return {
            "code": self.code,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
        }


class ChronicleError(Exception):
    """A failure with a message for the user; `hint` says what to do now."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ChronicleError):
    exit_code = 2


class DefinitionError(ChronicleError):
    """The definition has faults; all of them are here, not only the first."""

    exit_code = 3

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(fault.what for fault in faults))
        self.faults = tuple(faults)


class NotFoundError(ChronicleError):
    exit_code = 4


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a mistyped name most likely meant."""
    found = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """'; did you mean X?' where something is near, otherwise the list where it is short."""
    names = list(candidates)
    if found := nearest(name, names):
        return f"; did you mean '{found}'?"
    return f"; there is {', '.join(names)}" if 0 < len(names) <= 12 else ""
