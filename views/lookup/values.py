"""From a stored row to the values that a lookup shows: the aggregates' finalisers, then what is derived from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from chronicle.errors import ChronicleError
from chronicle.types import Value
from views.aggregates.monoid import Monoid, State
from views.checked import CheckedView
from views.derive import extender
from views.state import PERIOD_END, ViewLayout, state_column

Fields = tuple[Any, ...]


class ValueReader:
    """Compiled once per view: no names are looked up while a row is read."""

    def __init__(self, view: CheckedView, layout: ViewLayout) -> None:
        self._read: Callable[[bytes], Fields] = layout.row.reader()
        order = layout.row.read_order
        self._parts = [(name, monoid, _picker(order, name, monoid)) for name, monoid in layout.monoids]
        self._finalisers = [(name, monoid.finalise, pick) for name, monoid, pick in self._parts]
        self._derive = extender(view) if view.derived else None
        self._end = order.index(PERIOD_END) if PERIOD_END in order else None

    def values(self, stored: Sequence[bytes], key: Mapping[str, Value]) -> dict[str, Value]:
        """The values of a row that is stored in one piece or, where periods overlap, in several panes."""
        if len(stored) == 1:
            fields = self._read(stored[0])
            values = {name: finalise(pick(fields)) for name, finalise, pick in self._finalisers}
        else:
            panes = [self._read(pane) for pane in stored]
            values = {
                name: monoid.finalise(reduce(monoid.merge_one, map(pick, panes))) for name, monoid, pick in self._parts
            }
        if self._derive is not None:
            row = {**key, **values}
            self._derive(row)
            for name in key:
                del row[name]
            return row
        return values

    def period_end(self, stored: bytes) -> int | None:
        """The end of a keyed row's period, as it was when the row was first written."""
        return None if self._end is None else self._read(stored)[self._end]


def _picker(order: Sequence[str], name: str, monoid: Monoid) -> Callable[[Fields], State]:
    """Takes an aggregate's state out of a row's fields; blobs stand apart from the fixed fields."""
    places = [order.index(state_column(name, part.name)) for part in monoid.fields]
    first, last = places[0], places[-1]
    if places == list(range(first, last + 1)):
        chosen = slice(first, last + 1)
        return lambda fields: fields[chosen]
    return lambda fields: tuple([fields[place] for place in places])


def explained(error: ChronicleError, view: str, key: Mapping[str, Value]) -> ChronicleError:
    """The failure of one row's values, with the row's name."""
    named = ", ".join(f"{name}={value}" for name, value in key.items())
    return type(error)(f"view {view}, {named or 'its only row'}: {error.message}", error.hint)
