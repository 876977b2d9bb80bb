"""What became of every append: counts by fate, and the refused ones with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chronicle.errors import UsageError, did_you_mean
from views.state import FATES, LEDGER_SHARD, Quarantined, State


@dataclass(frozen=True, slots=True)
class Ledger:
    """`counters` hold more than fates, such as tuples that joined no version of a relation."""

    fates: Mapping[str, int]
    counters: Mapping[str, int]
    quarantine: tuple[Quarantined, ...]

    def to_json(self) -> dict[str, Any]:
        """The shape of the contract (§3)."""
        return {"fates": dict(self.fates), "quarantine": [refusal_json(each) for each in self.quarantine]}


def refusal_json(refused: Quarantined) -> dict[str, Any]:
    return {
        "sn": refused.sn,
        "fate": refused.fate,
        "reason": refused.reason,
        "body": refused.body.decode(errors="replace"),
        "view": refused.view,
    }


def read_ledger(state: State, fate: str | None = None, limit: int | None = None) -> Ledger:
    """Counts and refusals (the latest first; of one fate, if one is named) of one moment."""
    if fate is not None and fate not in FATES:
        raise UsageError(f"there is no fate '{fate}'{did_you_mean(fate, FATES)}", f"the fates: {', '.join(FATES)}")
    with state.shard(LEDGER_SHARD).read() as snapshot:
        tally = snapshot.tally()
        return Ledger(tally.total(), tally.counters, tuple(snapshot.quarantine(fate, limit)))
