"""What of the chronicle a source still has, as far as the state has come: the records, and what is missing of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from calendars import UTC, add_on_wall_clock
from chronicle.appends.topics import relation_topic
from chronicle.definitions import Definition, JournalSource
from chronicle.errors import ChronicleError
from chronicle.journal import Journal
from streaming.cutting import cuts_of, first_offsets
from streaming.kafka_source import KafkaSource
from streaming.recompute.records import Ranges, journal_records, kafka_records
from streaming.recompute.stored import StateMovedError
from streaming.source import Extents, OffsetsGoneError
from views.lookup import Views
from views.state import LEDGER_SHARD, Slot, Standing, Stretch, read_meta, stretches

Read = Callable[[SparkSession], DataFrame]


@dataclass(frozen=True, slots=True)
class Retained:
    """The records, read by `read`. `gone` says what no view can be compared without (only periods that start after
    `horizon` have all of their appends then), `lacking` by relation what its versions lack. `topics` are those of the
    slots, and `stretches` how the slots were read beside each other; `tallied` counts what the ledger has of each."""

    appends: int
    read: Read
    topics: Sequence[str] = ("journal",)
    stretches: Sequence[Stretch] = ()
    first: int = 0
    gone: str = ""
    horizon: int | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    tallied: Mapping[int, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.gone and not self.lacking

    def counted(self, definition: Definition, counts: Mapping[int, int]) -> Retained:
        """With what compaction took from relations' own topics; `counts` are the records that were read by slot."""
        lacking = dict(self.lacking)
        for slot, tallied in self.tallied.items():
            missing = tallied - counts.get(slot, 0)
            own = relation_topic(definition, self.topics[slot])
            if missing and (own is None or missing < 0):
                raise OffsetsGoneError(
                    f"the views count {tallied:,} messages of {self.topics[slot]}, which has {counts.get(slot, 0):,}",
                    "a topic of tuples that is compacted, or was written anew, cannot be compared",
                )
            if missing and own is not None:
                lacking.setdefault(own[0], f"{missing:,} messages of {self.topics[slot]} are gone (is it compacted?)")
        return replace(self, lacking=lacking)


def retained(views: Views, standing: Standing) -> Retained:
    definition = views.project.definition
    if isinstance(definition.source, JournalSource):
        return _of_journal(views, definition, standing)
    return _of_kafka(views, definition, standing)


def _of_journal(views: Views, definition: Definition, standing: Standing) -> Retained:
    path = views.project.journal_path
    assert path is not None  # the source is a journal
    at = standing.slots.get(0)
    last = at.next_offset if at is not None else 0
    with Journal.open(path, create=False) as journal:
        made_from = views.state.meta.journal
        if journal.next_offset() < last or (made_from is not None and made_from != journal.id):
            raise ChronicleError(
                f"the state at {views.home} was not made from the journal {path}",
                "name the right state with --state, or the right journal in `source`",
            )
        first = min(journal.earliest_offset(), last)
        found = Retained(last - first, _journal_reader(path, first, last), first=first)
        if first == 0:
            return found
        begins = next(journal.read(first, last), None)
    lost_until = begins.timestamp if begins is not None else standing.committed_at
    horizon = add_on_wall_clock(UTC, lost_until, definition.max_skew)
    return replace(found, gone=f"appends 0 to {first - 1} are no longer retained", horizon=horizon)


def _journal_reader(path: Path, first: int, last: int) -> Read:
    return lambda session: journal_records(session, path, first, last)


def _of_kafka(views: Views, definition: Definition, standing: Standing) -> Retained:
    state = replace(views.state, home=views.home)  # of a Delta state the shards are an index elsewhere
    with state.shard(LEDGER_SHARD).read() as snapshot:
        if snapshot.standing() != standing:
            raise StateMovedError
        tallied = {slot: sum(fates.values()) for slot, fates in snapshot.tally().fates.items()}
    slots = read_meta(views.home).slots
    source = KafkaSource.of(definition).known_to(views.home)
    extents = source.extents()
    cuts = cuts_of(state)
    starts = first_offsets(cuts)
    ranges = {slot: (starts[slot], at.next_offset) for slot, at in standing.slots.items()}
    lacking = _lacking(definition, slots, ranges, extents)
    whole = {slot: (max(first, extents[slots[slot]].earliest), last) for slot, (first, last) in ranges.items()}
    read: Ranges = {slot: (slots[slot], first, last) for slot, (first, last) in whole.items() if first < last}
    ends = {slot: last for slot, (_, last) in whole.items()}
    return Retained(
        sum(tallied.values()),
        lambda session: kafka_records(session, source.clusters, read),
        tuple(slot.topic for slot in slots),
        tuple(stretches(cuts, ends)),
        lacking=lacking,
        tallied=tallied,
    )


def _lacking(
    definition: Definition, slots: Sequence[Slot], ranges: Mapping[int, tuple[int, int]], extents: Extents
) -> dict[str, str]:
    """By relation what the topic of its own no longer has. Of a topic with tuples, nothing may be missing."""
    lacking: dict[str, list[str]] = {}
    lost: list[str] = []
    for number, (first, last) in sorted(ranges.items()):
        slot = slots[number]
        extent = extents.get(slot)
        if extent is None or extent.next < last:
            raise ChronicleError(
                f"the state counts on {slot.topic}-{slot.partition} up to offset {last - 1}, which is not there",
                "name the right state with --state, or the right topics in `source`",
            )
        if first >= min(extent.earliest, last):
            continue
        missing = f"{slot.topic}-{slot.partition}: offsets {first} to {min(extent.earliest, last) - 1}"
        own = relation_topic(definition, slot.topic)
        (lost if own is None else lacking.setdefault(own[0], [])).append(missing)
    if lost:
        raise OffsetsGoneError(
            f"appends that the views count are no longer retained: {'; '.join(lost)}",
            "nothing can be compared without them; restore them, or keep them longer (`topics create --retain`)",
        )
    return {name: f"{'; '.join(missing)} are no longer retained" for name, missing in lacking.items()}
