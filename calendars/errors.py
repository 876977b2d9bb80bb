"""What is wrong with a calendar, an instant, a duration or a label: what, why, and a fix.

The package knows nothing of definition files, so an error names the path inside the spec (`("fiscal", "year_end")`) and
whoever read the spec turns that into a place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CalendarError(ValueError):
    """Refused, with the reason; `path` leads to the offending value inside the spec, or `at_key` to its key."""

    def __init__(
        self, what: str, why: str = "", fix: str = "", path: tuple[str | int, ...] = (), at_key: bool = False
    ) -> None:
        super().__init__(what, why, fix, path, at_key)
        self.what = what
        self.why = why
        self.fix = fix
        self.path = path
        self.at_key = at_key

    def __str__(self) -> str:
        return "; ".join(part for part in (self.what, self.why, self.fix) if part)

    def inside(self, *keys: str | int) -> CalendarError:
        """The same error, seen from the value that holds the offending one under `keys`."""
        return CalendarError(self.what, self.why, self.fix, (*keys, *self.path), self.at_key)


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """'did you mean X?' where a candidate is near, otherwise the choices where they are few."""
    names = list(candidates)
    by_lower = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{by_lower[near[0]]}'?"
    return f"one of {', '.join(names)}" if len(names) <= 12 else ""
