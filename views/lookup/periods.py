"""Which period a lookup is about, and where its row lies: by instant, by label, or all that a key has.

A `Span` is a period with everything a lookup asks of it, worked out once: its panes' starts and where it closes and
expires. `Spans` keeps those of one calendar: the view's, or one key's where the calendar is keyed (§5.1).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from calendars import Calendar, CalendarError, Period, PeriodState
from chronicle.errors import UsageError
from views.checked import PeriodRule
from views.lookup.row import RowPeriod

_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Span:
    """`starts`: where the period's rows are stored, one start for each pane."""

    label: str
    start: int
    end: int
    closes: int
    expires: int | None
    starts: tuple[int, ...]
    _shown: dict[PeriodState, RowPeriod] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bounds = (self.label, self.start, self.end)
        object.__setattr__(self, "_shown", {state: RowPeriod(*bounds, state) for state in PeriodState})

    def state(self, clock: int | None) -> PeriodState:
        """By the least clock of the slots; None while some slot has admitted nothing."""
        if clock is None or clock < self.end:
            return PeriodState.OPEN
        if clock < self.closes:
            return PeriodState.GRACE
        if self.expires is None or clock < self.expires:
            return PeriodState.CLOSED
        return PeriodState.EXPIRED

    def shown(self, clock: int | None) -> RowPeriod:
        return self._shown[self.state(clock)]


class Spans:
    """The spans of one calendar, kept as they are asked for: a lookup at the clock is a binary search."""

    def __init__(self, rule: PeriodRule, calendar: Calendar) -> None:
        self._rule = rule
        self._calendar = calendar
        self._by_n: dict[int, Span] = {}
        self._seen: tuple[list[int], list[int], list[Span]] = ([], [], [])

    def at(self, instant: int) -> Span | None:
        """The span that contains the instant; where several do, the one that ends first."""
        starts, ends, spans = self._seen
        place = bisect_right(starts, instant) - 1
        if place >= 0 and instant < ends[place]:
            return spans[place]
        period = self._calendar.period_at(instant)
        pane = self._calendar.pane_at(instant)
        if period is None or pane is None:
            return None
        span = self._span(period)
        self._remember(pane.start, pane.end, span)
        return span

    def labelled(self, label: str) -> Span:
        try:
            return self._span(self._calendar.parse_label(label))
        except CalendarError as error:
            raise UsageError(error.what, error.why or error.fix) from None

    def over(self, starts: Iterable[int]) -> list[Span]:
        """The spans that have a row under one of these starts, in order."""
        periods: dict[int, Period] = {}
        for start in starts:
            periods |= {period.n: period for period in self._calendar.periods_between(start, start + 1)}
        ordered = sorted(periods.values(), key=lambda period: (period.start, period.end, period.n))
        return [self._span(period) for period in ordered]

    def between(self, first: int, last: int) -> Iterator[Span]:
        """The spans that intersect `[first, last]`."""
        return map(self._span, self._calendar.periods_between(first, last + 1))

    def _span(self, period: Period) -> Span:
        span = self._by_n.get(period.n)
        if span is None:
            rule, calendar = self._rule, self._calendar
            expires = None if rule.expire_after is None else calendar.add(period.end, rule.expire_after)
            starts = tuple(pane.start for pane in calendar.panes_of(period))
            closes = calendar.add(period.end, rule.grace)
            span = Span(period.label, period.start, period.end, closes, expires, starts)
            if len(self._by_n) >= _KEPT:
                self._by_n.clear()
            self._by_n[period.n] = span
        return span

    def _remember(self, start: int, end: int, span: Span) -> None:
        """Readers in other threads keep the lists that they have: new ones take their place."""
        starts, ends, spans = self._seen if len(self._seen[0]) < _KEPT else ([], [], [])
        place = bisect_right(starts, start)
        if place and starts[place - 1] == start:
            return
        self._seen = (
            [*starts[:place], start, *starts[place:]],
            [*ends[:place], end, *ends[place:]],
            [*spans[:place], span, *spans[place:]],
        )
