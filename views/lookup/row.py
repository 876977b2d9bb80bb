"""What a lookup answers: a row with its key, its period, its values, and the moment of the chronicle it reflects.

Timestamps are microseconds since 1970 UTC in Python, ISO 8601 in JSON; decimals are strings in JSON (contract §1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from calendars import PeriodState, format_instant
from chronicle.types import Kind, Schema, Value
from views.state import Slot, Standing

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowPeriod:
    """`[start, end)`, in microseconds since 1970 UTC, and its state by the least of the slots' clocks."""

    label: str
    start: int
    end: int
    state: PeriodState

    def to_json(self) -> Json:
        return {
            "label": self.label,
            "start": format_instant(self.start),
            "end": format_instant(self.end),
            "state": self.state.value,
        }


@dataclass(frozen=True, slots=True)
class AsOf:
    """How much of the chronicle a row reflects: read in the transaction that read the row."""

    standing: Standing
    slots: tuple[Slot, ...]
    read_at: int

    @property
    def clock(self) -> int | None:
        """The group's clock; None before the first admitted append."""
        return self.standing.clock

    @property
    def epoch(self) -> int:
        return self.standing.epoch

    @property
    def offsets(self) -> dict[str, dict[str, int]]:
        """Topic -> partition -> the first offset that is not reflected; the journal is topic `journal`, partition 0."""
        offsets: dict[str, dict[str, int]] = {}
        for number, slot in enumerate(self.slots):
            at = self.standing.slots.get(number)
            offsets.setdefault(slot.topic, {})[str(slot.partition)] = at.next_offset if at else 0
        return offsets

    @property
    def age_ms(self) -> int:
        """Milliseconds between the epoch's commit and the lookup."""
        return max(0, self.read_at - self.standing.committed_at) // 1000

    def to_json(self) -> Json:
        return {
            "clock": None if self.clock is None else format_instant(self.clock),
            "offsets": self.offsets,
            "age_ms": self.age_ms,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """`row["spend"]` is a value or a key column; `period` is None where the view has none."""

    view: str
    key: Mapping[str, Value]
    period: RowPeriod | None
    values: Mapping[str, Value]
    as_of: AsOf = field(compare=False)
    schema: Schema = field(compare=False, repr=False)

    def __getitem__(self, column: str) -> Value:
        if column in self.values:
            return self.values[column]
        return self.key[column]

    def to_json(self, *, as_of: bool = True) -> Json:
        """The shape of the contract (§3)."""
        row: Json = {
            "view": self.view,
            "key": self._shown(self.key),
            "period": None if self.period is None else self.period.to_json(),
            "values": self._shown(self.values),
        }
        if as_of:
            row["as_of"] = self.as_of.to_json()
        return row

    def _shown(self, values: Mapping[str, Value]) -> Json:
        return {name: shown(self.schema[name].type.kind, value) for name, value in values.items()}


def now_us() -> int:
    return time.time_ns() // 1000


_SHOWN: dict[Kind, Callable[[Any], Any]] = {
    Kind.DECIMAL: lambda value: format(value, "f") if isinstance(value, Decimal) else str(value),
    Kind.TIMESTAMP: format_instant,
    Kind.DATE: lambda value: value.isoformat(),
}


def shown(kind: Kind, value: Value) -> Any:
    """A value as JSON has it."""
    if value is None or kind not in _SHOWN:
        return value
    return _SHOWN[kind](value)
