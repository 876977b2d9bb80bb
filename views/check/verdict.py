"""What the checker says of a definition: for each view its class and bound, or every refusal."""

from __future__ import annotations

from dataclasses import dataclass

from chronicle.errors import Fault
from views.checked import Bound, CheckedView, ViewClass


@dataclass(frozen=True, slots=True)
class ViewVerdict:
    name: str
    cls: ViewClass | None = None
    bound: Bound | None = None
    refusals: tuple[Fault, ...] = ()
    checked: CheckedView | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`errors` are faults outside the views."""

    views: dict[str, ViewVerdict]
    errors: tuple[Fault, ...] = ()

    @property
    def admitted(self) -> dict[str, CheckedView]:
        return {name: view.checked for name, view in self.views.items() if view.checked is not None}
