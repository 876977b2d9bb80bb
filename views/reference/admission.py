"""Admission: every record gets its fate by the clock of its slot as it stood just before (contract: the clock).

In this order: duplicate, malformed, future, retroactive. What none of these refuses is admitted: it moves the clock,
its relation changes take effect, its tuples join the chronicle. Whether it is late is for each view to say, later on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from calendars.calendar import add_on_wall_clock
from calendars.zones import UTC
from chronicle.appends import Append, Change, Malformed, decode
from chronicle.definitions import Definition
from chronicle.sequence import sequence_number
from views.reference.versions import Moment, Relation, Row


class Record(NamedTuple):
    """A message as its source gave it; `timestamp` is when the journal or the broker took it."""

    slot: int
    offset: int
    timestamp: int
    key: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Admitted:
    """An append that is in the chronicle, with its slot's clock just before it."""

    sn: int
    chronon: int | None
    tuples: Mapping[str, Sequence[Row]]
    admitted: Moment
    clock_before: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    sn: int
    slot: int
    fate: str
    reason: str


@dataclass(slots=True)
class Database:
    """The paper's chronicle database without its views: all chronicles, all relations with all their versions."""

    relations: dict[str, Relation]
    appends: list[Admitted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    clocks: dict[int, int | None] = field(default_factory=dict)


def admit(definition: Definition, records: Iterable[Record], epochs: Collection[int] = ()) -> Database:
    """`epochs` are the places among the records where a new epoch begins; they matter to groups of several slots only:
    a slot knows of the others what the last epoch left."""
    relations = {
        name: Relation(tuple(relation.key), corrects=relation.retroactive == "correct")
        for name, relation in definition.relations.items()
    }
    gate = _Gate(definition, Database(relations))
    for order, record in enumerate(records):
        if order in epochs:
            gate.begin_epoch()
        gate.judge(record, order)
    return gate.database


class _Refusal(Exception):  # noqa: N818  # a fate, not an error
    def __init__(self, fate: str, reason: str) -> None:
        super().__init__(reason)
        self.fate = fate
        self.reason = reason


@dataclass(slots=True)
class _Gate:
    definition: Definition
    database: Database
    epoch: int = 0
    clocks_of_last_epoch: dict[int, int | None] = field(default_factory=dict)
    high_water: dict[int, int] = field(default_factory=dict)

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.clocks_of_last_epoch = dict(self.database.clocks)

    def judge(self, record: Record, order: int) -> None:
        sn = sequence_number(record.offset, record.slot)
        if record.slot not in self.database.clocks:  # a slot that is registered later starts at the group's clock
            self.database.clocks[record.slot] = _largest(self.clocks_of_last_epoch.values())
        try:
            self._refuse_duplicate(record)
            append = self._decoded(record)
            self._refuse_future(append, record)
            changes = self._proactive(append, record)
        except _Refusal as refusal:
            self.database.refused.append(Refused(sn, record.slot, refusal.fate, refusal.reason))
            return
        moment = Moment(order, record.slot, self.epoch)
        for change in changes:
            relation = self.database.relations[change.relation]
            relation.change(change.valid_from, moment, change.row, deleted=change.op == "delete")
        clock = self.database.clocks[record.slot]
        self.database.appends.append(Admitted(sn, append.chronon, append.tuples, moment, clock))
        self.database.clocks[record.slot] = _largest([clock, append.chronon])

    def _refuse_duplicate(self, record: Record) -> None:
        reached = self.high_water.get(record.slot, -1)
        if record.offset <= reached:
            raise _Refusal("duplicate", f"offset {record.offset} was delivered before")
        self.high_water[record.slot] = record.offset

    def _decoded(self, record: Record) -> Append:
        try:
            return decode(record.value, record.headers, record.timestamp, self.definition)
        except Malformed as malformed:
            raise _Refusal("malformed", malformed.reason) from None

    def _refuse_future(self, append: Append, record: Record) -> None:
        latest = add_on_wall_clock(UTC, record.timestamp, self.definition.max_skew)
        if append.chronon is not None and append.chronon > latest:
            raise _Refusal("future", "its chronon is further ahead of real time than max_skew")

    def _proactive(self, append: Append, record: Record) -> list[Change]:
        """The changes as they are admitted; one that is retroactive under `reject` refuses the whole append."""
        clock = self._group_clock(record.slot)
        admitted: list[Change] = []
        for change in append.changes:
            policy = self.definition.relations[change.relation].retroactive
            if clock is None or change.valid_from > clock or policy == "correct":
                admitted.append(change)
            elif policy == "clamp":
                admitted.append(replace(change, valid_from=clock + 1))
            else:
                raise _Refusal("retroactive", f"the change of {change.relation} is from before the group's clock")
        return admitted

    def _group_clock(self, slot: int) -> int | None:
        """The own slot's clock exactly as it stands, the others' as of the last epoch."""
        others = [clock for other, clock in self.clocks_of_last_epoch.items() if other != slot]
        return _largest([self.database.clocks[slot], *others])


def _largest(clocks: Iterable[int | None]) -> int | None:
    return max((clock for clock in clocks if clock is not None), default=None)
