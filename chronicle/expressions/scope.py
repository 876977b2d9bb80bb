"""The columns that an expression may name, and which one a name means.

A name that is written without quotes ignores case where no column has exactly that spelling; a quoted one is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chronicle.errors import did_you_mean, nearest
from chronicle.expressions.errors import ExpressionCode, ExpressionError
from chronicle.types import DataType


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """`id` is the column's name in the algebra; `qualifier` the chronicle, relation or alias before it."""

    qualifier: str | None
    name: str
    id: str
    type: DataType
    nullable: bool = False

    def __str__(self) -> str:
        return self.name if self.qualifier is None else f"{self.qualifier}.{self.name}"


@dataclass(frozen=True, slots=True)
class Name:
    """A column as it is written."""

    text: str
    qualifier: str | None = None
    quoted: bool = False

    def __str__(self) -> str:
        return self.text if self.qualifier is None else f"{self.qualifier}.{self.text}"


@dataclass(frozen=True, slots=True)
class Scope:
    columns: tuple[ScopeColumn, ...]

    def resolve(self, name: Name) -> ScopeColumn:
        """The one column that is meant; ExpressionError where there is none or more than one."""
        found = self._matching(name, lambda text: text)
        if not found and not name.quoted:
            found = self._matching(name, str.casefold)
        if len({column.id for column in found}) == 1:
            return found[0]
        raise self._ambiguous(name, found) if found else self._unknown(name)

    def _matching(self, name: Name, spelled: Callable[[str], str]) -> list[ScopeColumn]:
        return [
            column
            for column in self.columns
            if spelled(column.name) == spelled(name.text)
            and (name.qualifier is None or spelled(column.qualifier or "") == spelled(name.qualifier))
        ]

    def _ambiguous(self, name: Name, found: list[ScopeColumn]) -> ExpressionError:
        candidates = sorted({str(column) for column in found})
        return ExpressionError(
            ExpressionCode.AMBIGUOUS_COLUMN,
            f"'{name}' may mean {' or '.join(candidates)}",
            "a name stands for one column; several have this one",
            f"write {candidates[0]}",
        )

    def _unknown(self, name: Name) -> ExpressionError:
        qualifiers = {column.qualifier for column in self.columns if column.qualifier is not None}
        if name.qualifier is not None and name.qualifier not in qualifiers:
            what = f"there is no '{name.qualifier}' here{did_you_mean(name.qualifier, sorted(qualifiers))}"
            near = _nearest(name, [str(column) for column in self.columns])
        elif name.qualifier is not None:
            own = [column.name for column in self.columns if column.qualifier == name.qualifier]
            what = f"'{name.qualifier}' has no column '{name.text}'{did_you_mean(name.text, own)}"
            near = _nearest(Name(name.text), own)
        else:
            names = list(dict.fromkeys(column.name for column in self.columns))
            what = f"there is no column '{name.text}'{did_you_mean(name.text, names)}"
            near = _nearest(name, names)
        why = "an expression names columns that are there at this place"
        return ExpressionError(ExpressionCode.UNKNOWN_COLUMN, what, why, near)


def _nearest(name: Name, candidates: list[str]) -> str:
    found = nearest(str(name), candidates)
    return f"write {found}" if found else ""
