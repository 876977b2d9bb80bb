"""An epoch's row of the ledger, as it stands in the table: where every slot stands, fates and counts, and when.

A snapshot has one too, in which fates and counts are those of all epochs up to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from views.state import Outcome, SlotStanding, Standing, Tally
from views.state.standing import add_outcome


@dataclass(frozen=True, slots=True)
class LedgerRow:
    epoch: int
    committed_at: int
    term: int
    outcome: Outcome

    @property
    def standing(self) -> Standing:
        return Standing(self.epoch, self.committed_at, self.outcome.slots)

    @property
    def tally(self) -> Tally:
        return add_outcome(Tally(), self.outcome, {})

    def then(self, later: Iterable[LedgerRow]) -> LedgerRow:
        """Both together: counts added up, and standing where the last of them does."""
        total, last = self.tally, self
        for row in later:
            total, last = add_outcome(total, row.outcome, {}), row
        return LedgerRow(
            last.epoch, last.committed_at, last.term, Outcome(last.outcome.slots, total.fates, total.counters)
        )


BEGINNING = LedgerRow(0, 0, 0, Outcome({}))


def encode_ledger(row: LedgerRow) -> bytes:
    slots = {slot: [at.next_offset, at.clock] for slot, at in row.outcome.slots.items()}
    content = {
        "epoch": row.epoch,
        "committed_at": row.committed_at,
        "term": row.term,
        "slots": slots,
        "fates": row.outcome.fates,
        "counters": row.outcome.counters,
    }
    return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)


def decode_ledger(content: bytes) -> LedgerRow:
    read = orjson.loads(content)
    slots = {int(slot): SlotStanding(offset, clock) for slot, (offset, clock) in read["slots"].items()}
    fates: Mapping[int, Mapping[str, int]] = {int(slot): counts for slot, counts in read["fates"].items()}
    return LedgerRow(read["epoch"], read["committed_at"], read["term"], Outcome(slots, fates, read["counters"]))
