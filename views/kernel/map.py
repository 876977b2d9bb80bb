"""The map kernel: a range of one slot's messages to partials, relation changes and the ledger's part.

Every operator of the chronicle algebra works within one sequence number (Theorem 4.1), so a range is mapped by itself,
where it was read: decode, admit, book into periods, then each view's algebra and partial aggregates in DuckDB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from chronicle.appends.decode import Decoder
from chronicle.appends.topics import RelationDecoder
from chronicle.arrow import arrow_type
from chronicle.sequence import SLOT_BITS
from views.kernel.admission import NO_CLOCK, Admission, Bools, admit, moves_to
from views.kernel.decode import decode_range
from views.kernel.decoded import AT, GONE, NO_CHRONON, PLACE, SINCE, Decoded, Int64s
from views.kernel.engine import Engine
from views.kernel.partials import Changes, SlotResult, ViewPartials
from views.kernel.periods import Booking, book_shared
from views.kernel.relations import RelationIndex, in_order
from views.kernel.relay import ALONE, Relay
from views.kernel.view_map import Epoch, map_program
from views.plan import GroupPlan, RelationPlan, rule_column
from views.plan.algebra_sql import chronicle_table
from views.plan.steps import CHRONON, POS, SN
from views.state import Quarantined, Slot, VersionStore, encode_keys
from views.state.cuts import CHANGES

_INSTANTS = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True)
class SlotRange:
    """What a map works on: offsets [start, end) of a slot, its high water and clock before them, and the largest clock
    of the other slots as of the last epoch. `corrects`: a change from the past is taken where its relation says so,
    since the whole chronicle is there to repair its views from. `place` is the slot's topic-partition: a topic
    that is a relation's own decides how messages are read. `known` is the high water of every slot: versions from there
    on are of this epoch, and only a repeat finds them in the state. `beside`: the epoch reads other slots too."""

    slot: int
    start: int
    end: int
    high_water: int
    clock: int | None
    others_clock: int | None = None
    corrects: bool = False
    place: Slot | None = None
    known: Mapping[int, int] = field(default_factory=dict)
    beside: bool = False


class MapKernel:
    """Compiled once per process; `map` may be called for any range, epoch after epoch. `stored` are the versions of
    relations that views join, and may be others for each epoch."""

    def __init__(self, plan: GroupPlan, stored: VersionStore) -> None:
        self._plan = plan
        self.stored = stored
        self._decoder = Decoder(plan.group)
        self._own_decoders = {
            topic: RelationDecoder(plan.group, own.relation, debezium=own.debezium)
            for topic, own in plan.own_topics.items()
        }
        self._engine = Engine()
        self._rejecting = {name: _rejecting(relation) for name, relation in plan.relations.items()}
        self._empty = {name: self._empty_table(name) for name in plan.group.chronicles}

    def map(self, part: SlotRange, messages: pa.Table, relay: Relay = ALONE) -> SlotResult:
        """`messages` are those of the range, in the order of their offsets, as `Journal.read_arrow` gives them; `relay`
        knows what the parts of the slot before this one admit."""
        decoded = self._decoded(part, messages)
        offsets, taken_at = messages.column("offset").to_numpy(), messages.column("timestamp").to_numpy()
        duplicate = offsets < part.high_water
        leaves = moves_to(decoded, taken_at, duplicate, self._plan.max_skew)
        if leaves is not None:
            relay.leave(leaves)
        admission = admit(
            decoded,
            taken_at,
            duplicate,
            self._plan.relations if part.corrects else self._rejecting,
            self._plan.max_skew,
            max(NO_CLOCK if part.clock is None else part.clock, relay.before()),
            NO_CLOCK if part.others_clock is None else part.others_clock,
        )
        if leaves is None:
            relay.leave(admission.clock)
        sns = (offsets << SLOT_BITS) | part.slot
        try:
            partials, late, counters = self._views(part, decoded, admission, sns)
        finally:
            self._engine.clear()
        for name, count in self._corrections(part, admission).items():
            counters[corrections(name)] = count
        counters |= _judged(part, decoded, duplicate)
        quarantine = [*_refused(admission, sns, messages), *_late(late, sns, messages)]
        lates = len(set().union(*(places.tolist() for places, _ in late.values())))
        fates = Counter(refusal.fate for refusal in admission.refused.values())
        fates["applied"] = int(admission.admitted.sum()) - lates
        fates["late"] = lates
        return SlotResult(
            part.slot,
            part.end,
            None if admission.clock == NO_CLOCK else admission.clock,
            {fate: count for fate, count in fates.items() if count},
            counters,
            tuple(quarantine),
            partials,
            {name: self._changes(name, table, sns) for name, table in admission.changes.items() if table.num_rows},
        )

    def _decoded(self, part: SlotRange, messages: pa.Table) -> Decoded:
        own = None if part.place is None else self._plan.own_topics.get(part.place.topic)
        decoder = self._decoder if own is None or part.place is None else self._own_decoders[part.place.topic]
        return decode_range(self._plan.group, decoder, messages, own)

    def _views(
        self, part: SlotRange, decoded: Decoded, admission: Admission, sns: Int64s
    ) -> tuple[tuple[ViewPartials, ...], dict[str, tuple[Int64s, str]], dict[str, int]]:
        """The partials of every view that got tuples, the places (and reasons) of the appends that are late for a view,
        and counts."""
        appended = admission.admitted & (decoded.chronons != NO_CHRONON)
        partials: list[ViewPartials] = []
        late: dict[str, tuple[Int64s, str]] = {}
        counters: Counter[str] = Counter()
        if not appended.any():
            return (), late, counters
        bookings = [book_shared(rule, decoded.chronons, admission.clocks) for rule in self._plan.rules]
        tables = self._base_tables(decoded, appended, sns, bookings)
        chronons = decoded.chronons[appended]
        epoch = Epoch(
            self._engine,
            RelationIndex(self.stored, self._plan.relations, admission.changes, sns, part.known),
            tables,
            sns,
            admission.clocks,
            (int(chronons.min()), int(chronons.max())),
            bookings,
            appended,
        )
        for program in self._plan.programs:
            if not any(name in tables for name in program.chronicles):
                continue
            mapped = map_program(epoch, program)
            if mapped.partials is not None:
                partials.append(mapped.partials)
            late |= {view: (places, _closed(view)) for view, places in mapped.late.items()}
            counters.update(mapped.counters)
        return tuple(partials), late, dict(counters)

    def _base_tables(
        self,
        decoded: Decoded,
        appended: Bools,
        sns: Int64s,
        bookings: Sequence[Booking],
    ) -> dict[str, pa.Table]:
        """The admitted tuples of each chronicle that has some, registered; the others are registered empty."""
        tables: dict[str, pa.Table] = {}
        for name, empty in self._empty.items():
            rows = decoded.tuples.get(name)
            if rows is not None and not appended.all():
                rows = rows.filter(pa.array(appended[rows.column(AT).to_numpy()]))
            if rows is None or not rows.num_rows:
                self._engine.register(chronicle_table(name), empty)
                continue
            at = rows.column(AT).to_numpy()
            columns = {
                SN: pa.array(sns[at]),
                CHRONON: pa.array(decoded.chronons[at]).view(_INSTANTS),
                POS: rows.column(PLACE),
            }
            for place, booking in enumerate(bookings):
                columns[rule_column(place)] = pa.array(booking.starts[at], mask=~booking.booked[at])
            own = {column: rows.column(column) for column in self._plan.group.chronicles[name].schema.names}
            tables[name] = pa.table(columns | own)
            self._engine.register(chronicle_table(name), tables[name])
        return tables

    def _empty_table(self, name: str) -> pa.Table:
        implicit = [pa.field(SN, pa.int64()), pa.field(CHRONON, _INSTANTS), pa.field(POS, pa.int64())]
        starts = [pa.field(rule_column(place), pa.int64()) for place in range(len(self._plan.rules))]
        own = [pa.field(c.name, arrow_type(c.type)) for c in self._plan.group.chronicles[name].schema.columns]
        return pa.schema([*implicit, *starts, *own]).empty_table()

    def _corrections(self, part: SlotRange, admission: Admission) -> dict[str, int]:
        """How many admitted changes reach back before the clock, by relation, or may do so for tuples that are
        mapped at the same time: their views have to be repaired."""
        own = part.place is not None and part.place.topic in self._plan.own_topics
        found: dict[str, int] = {}
        others = NO_CLOCK if part.others_clock is None else part.others_clock
        for name, table in admission.changes.items():
            if not part.corrects or self._plan.relations[name].retroactive != "correct":
                continue
            if part.beside and not own and table.num_rows:
                found[name] = table.num_rows  # tuples of other slots in this epoch do not know it
            elif table.num_rows:
                clocks = np.maximum(admission.clocks[table.column(AT).to_numpy()], others)
                back = int(((clocks != NO_CLOCK) & (table.column(SINCE).to_numpy() <= clocks)).sum())
                if back:
                    found[name] = back
        return found

    def _changes(self, relation: str, table: pa.Table, sns: Int64s) -> Changes:
        layout = self._plan.relations[relation].layout
        ordered = in_order(table)
        keys = encode_keys(layout.key_types, [ordered.column(name) for name in layout.key], ordered.num_rows)
        return Changes(
            keys,
            ordered.column(SINCE).to_numpy(),
            sns[ordered.column(AT).to_numpy()],
            ordered.column(GONE).to_numpy(zero_copy_only=False),
            ordered.select([column.name for column in layout.columns]),
        )


def corrections(relation: str) -> str:
    """The ledger's counter of retroactive changes that were admitted."""
    return f"corrections:{relation}"


def _judged(part: SlotRange, decoded: Decoded, duplicate: Bools) -> dict[str, int]:
    """How many changes there were, whatever their fate: in a group of several slots it matters in which epoch."""
    if len(part.known) < 2:
        return {}
    counts = {name: int((~duplicate[table.column(AT).to_numpy()]).sum()) for name, table in decoded.changes.items()}
    return {f"{CHANGES}{name}": count for name, count in counts.items() if count}


def _rejecting(relation: RelationPlan) -> RelationPlan:
    return replace(relation, retroactive="reject") if relation.retroactive == "correct" else relation


def _closed(view: str) -> str:
    return f"its period of view {view} is closed"


def _refused(admission: Admission, sns: Int64s, messages: pa.Table) -> list[Quarantined]:
    places = sorted(admission.refused)
    bodies = _bodies(messages, places)
    return [
        Quarantined(int(sns[place]), admission.refused[place].fate, admission.refused[place].reason, body)
        for place, body in zip(places, bodies, strict=True)
    ]


def _late(late: Mapping[str, tuple[Int64s, str]], sns: Int64s, messages: pa.Table) -> list[Quarantined]:
    return [
        Quarantined(int(sns[place]), "late", reason, body, view)
        for view, (places, reason) in late.items()
        for place, body in zip(places.tolist(), _bodies(messages, places.tolist()), strict=True)
    ]


def _bodies(messages: pa.Table, places: Sequence[int]) -> list[bytes]:
    values = messages.column("value").take(pa.array(places, pa.int64())).to_pylist()
    return [value or b"" for value in values]
