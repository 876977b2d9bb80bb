"""The plan log: what an epoch reads, written down durably before it runs.

A retry after a crash takes its plan from here, never from the source or Spark's checkpoint: the same offsets, the same
clocks, hence the same fates and partials, and a shard that has the epoch skips it. The latest two plans are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from chronicle.errors import ChronicleError
from views.state.durable import write_whole

_KEPT = 2


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """One slot's part of an epoch: offsets [start, end), and where the slot stood before it.

    `high_water` is the first offset without a fate: an append read below it is a duplicate.
    """

    slot: int
    start: int
    end: int
    high_water: int
    clock: int | None


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """`extra` is the engine's own (JSON): what else it needs to repeat the epoch exactly, such as idle marks."""

    epoch: int
    slots: tuple[SlotPlan, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)


class EpochLog:
    """The file `plans.json` of a state. Only the job that holds the writer's lock writes it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "plans.json"

    def plans(self) -> tuple[EpochPlan, ...]:
        """Oldest first."""
        try:
            content = orjson.loads(self._path.read_bytes())
            return tuple(
                EpochPlan(plan["epoch"], tuple(SlotPlan(**slot) for slot in plan["slots"]), plan["extra"])
                for plan in content
            )
        except FileNotFoundError:
            return ()
        except (ValueError, TypeError, KeyError) as error:
            raise ChronicleError(
                f"{self._path} is damaged: {error}",
                "restore it from a backup of the same moment; where every shard has the same epoch it may be removed",
            ) from None

    def latest(self) -> EpochPlan | None:
        plans = self.plans()
        return plans[-1] if plans else None

    def plan(self, epoch: int) -> EpochPlan | None:
        return next((plan for plan in self.plans() if plan.epoch == epoch), None)

    def written_at(self) -> int | None:
        """When the latest plan was written down, microseconds UTC: where its epoch began."""
        try:
            return self._path.stat().st_mtime_ns // 1000
        except FileNotFoundError:
            return None

    def withdraw(self, plan: EpochPlan) -> None:
        """Takes the latest plan back, durably: for one whose epoch no shard has."""
        kept = [each for each in self.plans() if each != plan]
        write_whole(self._path, orjson.dumps([asdict(each) for each in kept], option=orjson.OPT_INDENT_2))

    def write(self, plan: EpochPlan) -> None:
        """Durable on return. Epochs follow each other; rewriting one with other contents is refused."""
        plans = self.plans()
        if plan in plans:
            return
        if plans and plan.epoch != plans[-1].epoch + 1:
            raise ChronicleError(
                f"epoch {plan.epoch} cannot be planned after epoch {plans[-1].epoch}",
                "epochs are consecutive and a plan never changes; another job may have written this state",
            )
        kept = (*plans, plan)[-_KEPT:]
        write_whole(self._path, orjson.dumps([asdict(each) for each in kept], option=orjson.OPT_INDENT_2))
