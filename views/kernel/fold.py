"""The fold kernel: what the maps made of an epoch, merged into one shard in one transaction (Theorem 4.4).

A fold is idempotent per epoch: a shard that has the epoch skips it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from calendars import Calendar, Duration, KeyedCalendar
from calendars.calendar import add_on_wall_clock
from calendars.zones import UTC
from views.checked import PeriodRule
from views.kernel.failpoints import reach
from views.kernel.partials import SlotResult, joined
from views.plan import GroupPlan, ViewPlan
from views.state import LEDGER_SHARD, EpochPlan, Outcome, ShardTransaction, SlotStanding, State

EXPIRE_LIMIT = 50_000
"""Rows of a view that one epoch deletes from a shard at most, so that no epoch is long because a period is over."""

EXPIRE_VIEWS = 250
"""Views whose old rows one epoch looks for at most, in turn, so that views with nothing to delete cost it nothing."""

_A_DAY = 86_400_000_000


def outcome_of(epoch: EpochPlan, results: Iterable[SlotResult]) -> Outcome:
    """Where every slot stands after the epoch, and what became of its appends."""
    slots = {slot.slot: SlotStanding(slot.end, slot.clock) for slot in epoch.slots}
    fates: dict[int, Counter[str]] = {}
    counters: Counter[str] = Counter()
    for result in results:
        before = slots[result.slot]
        slots[result.slot] = SlotStanding(before.next_offset, _later(before.clock, result.clock))
        fates.setdefault(result.slot, Counter()).update(result.fates)
        counters.update(result.counters)
    return Outcome(slots, fates, counters)


def _later(one: int | None, other: int | None) -> int | None:
    return max((clock for clock in (one, other) if clock is not None), default=None)


def fold(
    plan: GroupPlan,
    state: State,
    shard: int,
    epoch: EpochPlan,
    outcome: Outcome,
    results: Sequence[SlotResult],
    *,
    committed_at: int | None = None,
    position: int | None = None,
) -> bool:
    """Merges the shard's share of `results` (already apart by shard) and commits; False where it was there already.

    A follower gives when the epoch was committed and the position in the log where it found it.
    """

    in_order = sorted(results, key=lambda each: (each.slot, each.next_offset))
    together = joined(in_order)

    def work(transaction: ShardTransaction) -> None:
        for result in in_order:
            for relation, changes in result.changes.items():
                transaction.put_versions(
                    relation,
                    changes.keys.to_pylist(),
                    changes.valid_from,
                    changes.sns,
                    changes.deleted,
                    changes.rows,
                )
            if shard == LEDGER_SHARD:
                transaction.quarantine(result.quarantine)
        for partials in together:
            partials.merge_into(transaction)
        for view, expired in expiries(_in_turn(plan.views, epoch.epoch), outcome).items():
            transaction.expire(view, expired, EXPIRE_LIMIT)
        if position is not None:
            transaction.put_position(position)

    reach(f"fold-{shard}")
    written = state.shard(shard).write(epoch.epoch, outcome, work, committed_at)
    reach(f"folded-{shard}")
    return written


Expired = Callable[[int, int], bool]


def _in_turn(views: Iterable[ViewPlan], epoch: int) -> Sequence[ViewPlan]:
    """Of the views that expire, those that this epoch looks after."""
    expiring = [view for view in views if view.period is not None and view.period.expire_after is not None]
    if len(expiring) <= EXPIRE_VIEWS:
        return expiring
    first = epoch * EXPIRE_VIEWS % len(expiring)
    return (expiring + expiring)[first : first + EXPIRE_VIEWS]


def expiries(views: Iterable[ViewPlan], outcome: Outcome) -> Mapping[str, Expired]:
    """By view whether a stored period (or pane) is over for so long that its rows may go: by the least clock."""
    clocks = [slot.clock for slot in outcome.slots.values()]
    known = [clock for clock in clocks if clock is not None]
    if not known or len(known) < len(clocks):
        return {}
    least = min(known)
    return {
        view.name: _expired(view.period, view.period.expire_after, least)
        for view in views
        if view.period is not None and view.period.expire_after is not None
    }


def _expired(rule: PeriodRule, expire_after: Duration, clock: int) -> Expired:
    calendar = rule.calendar
    if isinstance(calendar, KeyedCalendar):
        # which zone counts is the key's; two days cover any, and lookups judge exactly
        margin = 2 * _A_DAY + (calendar.longest if calendar.overlapping else 0)
        return lambda start, end: clock >= add_on_wall_clock(UTC, end, expire_after) + margin
    if calendar.overlapping:
        return lambda start, end: clock >= calendar.add(_last_end(calendar, start), expire_after)
    return lambda start, end: clock >= calendar.add(end, expire_after)


def _last_end(calendar: Calendar, pane: int) -> int:
    """Where the last of the periods that a pane is a part of ends."""
    return max(period.end for period in calendar.periods_at(pane))
