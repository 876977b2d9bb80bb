"""What the state says: the rows of its views, all of one epoch, and how much of the chronicle that epoch reflects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chronicle.errors import ChronicleError
from chronicle.types import Value
from streaming.recompute.rows import RowKey
from views.lookup import View, Views
from views.state import Standing

_ATTEMPTS = 3


class StateMovedError(ChronicleError):
    """The job committed an epoch while the rows were read."""

    def __init__(self) -> None:
        super().__init__(
            "the state went on while it was read", "stop `chronicle run`, or try again when it has less to do"
        )


@dataclass(frozen=True, slots=True)
class StoredRows:
    """`faults` are the rows whose values cannot be shown."""

    rows: Mapping[RowKey, Mapping[str, Value]]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    standing: Standing
    views: Mapping[str, StoredRows]


def read_stored(views: Views, names: list[str]) -> Stored:
    for _ in range(_ATTEMPTS):
        before = _standing(views)
        read = {name: _rows(views[name]) for name in names}
        if _standing(views) == before:
            return Stored(before, read)
    raise StateMovedError


def _standing(views: Views) -> Standing:
    standings = views.state.standings()
    if len({each.epoch for each in standings}) > 1:
        raise ChronicleError(
            "the shards of the state stand at two epochs", "an epoch is under way, or `chronicle run` must finish one"
        )
    return standings[0]


def _rows(view: View) -> StoredRows:
    faults: list[ChronicleError] = []
    rows: dict[RowKey, Mapping[str, Value]] = {}
    for row in view.scan(on_fault=faults.append):
        period = row.period
        key = tuple(row.key[column.name] for column in view.key_columns)
        rows[RowKey(period.start if period else None, period.end if period else None, key)] = row.values
    return StoredRows(rows, tuple(fault.message for fault in faults))
