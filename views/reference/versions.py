"""Relations with all their versions (chronicle-data-model §2.3): which row was in force at an instant.

A version holds from its `valid_from` until the next one of the same key. Of two with the same `valid_from` the later
append wins. A delete is a version without a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from chronicle.types import Value

Key = tuple[Value, ...]
Row = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was admitted: its place among all appends, and what can have known of it."""

    order: int
    slot: int
    epoch: int

    def knows(self, other: Moment) -> bool:
        """A slot knows its own appends up to this one, and those of other slots as of the last epoch."""
        return other.order <= self.order if other.slot == self.slot else other.epoch < self.epoch


@dataclass(frozen=True, slots=True)
class Version:
    valid_from: int
    admitted: Moment
    row: Row | None


@dataclass(slots=True)
class Relation:
    """`corrects`: retroactive changes are admitted and repair every view, as if they had always been known."""

    key: tuple[str, ...]
    corrects: bool
    history: dict[Key, list[Version]] = field(default_factory=lambda: defaultdict(list))

    def change(self, valid_from: int, admitted: Moment, row: Row, *, deleted: bool) -> None:
        key = tuple(row[name] for name in self.key)
        self.history[key].append(Version(valid_from, admitted, None if deleted else row))

    def versions(self, key: Key, viewer: Moment) -> list[Version]:
        """The versions of a key that an append knows, one per `valid_from`, in that order."""
        latest = {
            version.valid_from: version
            for version in self.history.get(key, ())  # in the order of admission, so a later one takes the place
            if self.corrects or viewer.knows(version.admitted)
        }
        return [latest[valid_from] for valid_from in sorted(latest)]

    def in_force(self, key: Key, chronon: int, viewer: Moment) -> Row | None:
        """The row of this key at an instant; None where there is none, and for a key with a null in it."""
        if None in key:
            return None
        before = [version for version in self.versions(key, viewer) if version.valid_from <= chronon]
        return before[-1].row if before else None

    def rows_in_force(self, chronon: int, viewer: Moment) -> Iterator[Row]:
        """The relation as it was at an instant, by key."""
        for key in sorted(self.history, key=lambda key: tuple((value is None, value) for value in key)):
            if row := self.in_force(key, chronon, viewer):
                yield row
