"""One view, looked up: `get` a row, `history` of a key, `scan` of all. A row and its `as_of` are of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from calendars import PeriodState
from chronicle.appends import Token
from chronicle.errors import ChronicleError, UsageError
from chronicle.types import Column, Schema, Value
from views.checked import CheckedView
from views.lookup.faults import PeriodExpiredError
from views.lookup.keyed import KeyedSpans
from views.lookup.keys import KeyReader, instant_of
from views.lookup.periods import Span, Spans
from views.lookup.row import AsOf, Row, RowPeriod, now_us
from views.lookup.scan import scan
from views.lookup.values import ValueReader, explained
from views.state import Shard, Snapshot, State, ViewLayout, shard_of
from views.state.environment import lineage

if TYPE_CHECKING:
    from views.lookup.connection import Views

Moment = int | datetime | str


class View:
    """Made by `Views`; good for as long as its state's registry does not change."""

    def __init__(self, views: Views, state: State, checked: CheckedView, layout: ViewLayout) -> None:
        self.name = checked.name
        self.checked = checked
        self.schema: Schema = checked.schema
        self.state = state
        self.values = ValueReader(checked, layout)
        self.keys = KeyReader(checked.name, checked.keys)
        rule = checked.period
        self.spans: Spans | KeyedSpans | None = None
        if rule is not None and rule.keyed_by is not None:
            relation = state.registry.relations[rule.keyed_by.relation][1]
            self.spans = KeyedSpans(checked, rule, rule.keyed_by, relation)
        elif rule is not None:
            self.spans = Spans(rule, rule.calendar)  # type: ignore[arg-type]  # keyed ones have a KeyedBy
        self._views = views
        self._shards: tuple[int, list[Shard]] = (-1, [])

    @property
    def key_columns(self) -> tuple[Column, ...]:
        return self.checked.keys

    def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        at: Moment | None = None,
        period: str | None = None,
        after: str | Token | None = None,
        wait: float = 0.0,
        **columns: Any,
    ) -> Row | None:
        """The row of a key: `get(caller="c1")`, or `get({"at": ...})` where a column is named like an option.

        `at` is an instant in the wanted period (default: the group's clock), `period` its label. With `after` (a token)
        the row reflects that append, waiting up to `wait` seconds for it, or NotYetError. None: there is no such row.
        PeriodExpiredError: there may have been one.
        """
        encoded, shown = self.keys.read(columns if key is None else {**key, **columns})
        self._refuse_both(at, period)
        with self._snapshot(encoded, after, wait) as snapshot:
            as_of = self.as_of(snapshot)
            if self.spans is None:
                stored = snapshot.row(self.name, encoded)
                return None if stored is None else self.row_of(shown, None, (stored,), as_of)
            span = self._span(shown, at, period, as_of)
            return None if span is None else self.row_in(snapshot, encoded, shown, span, as_of)

    def history(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        after: str | Token | None = None,
        wait: float = 0.0,
        **columns: Any,
    ) -> list[Row]:
        """The rows of a key in every retained period, oldest first."""
        encoded, shown = self.keys.read(columns if key is None else {**key, **columns})
        with self._snapshot(encoded, after, wait) as snapshot:
            as_of = self.as_of(snapshot)
            if self.spans is None:
                stored = snapshot.row(self.name, encoded)
                return [] if stored is None else [self.row_of(shown, None, (stored,), as_of)]
            clock = as_of.standing.least_clock
            rows = (
                self.row_in(snapshot, encoded, shown, span, as_of)
                for span in self._spans_of(snapshot, encoded, shown)
                if span.state(clock) is not PeriodState.EXPIRED
            )
            return [row for row in rows if row is not None]

    def reflects(self, key: Mapping[str, Any], token: str | Token) -> bool:
        """Whether a lookup of this key would reflect the append that the token names."""
        encoded, _ = self.keys.read(key)
        slot, offset = self._views.slot_of(token)
        return self.state.shard(shard_of(encoded, self.state.shards)).standing().reflects(slot, offset)

    def scan(
        self,
        *,
        period: str | None = None,
        limit: int | None = None,
        prefix: Mapping[str, Any] | None = None,
        on_fault: Callable[[ChronicleError], None] | None = None,
    ) -> Iterator[Row]:
        """Every row of every retained period, or of one, in order of period and key. `prefix` gives the values of the
        first key columns. Memory does not depend on the number of rows. A row whose values cannot be shown (a sum that
        left its type) is told to `on_fault` and passed over, or raised where there is none."""
        self._refuse_both(None, period)
        return scan(self, period, limit, self.keys.prefix(prefix or {}), on_fault)

    def as_of(self, snapshot: Snapshot) -> AsOf:
        return AsOf(snapshot.standing(), self.state.meta.slots, now_us())

    def row_in(
        self, snapshot: Snapshot, encoded: bytes, shown: Mapping[str, Value], span: Span, as_of: AsOf
    ) -> Row | None:
        """The row of a key in a period, merged from the panes that have one."""
        period = span.shown(as_of.standing.least_clock)
        if period.state is PeriodState.EXPIRED:
            raise PeriodExpiredError(self.name, span.label)
        stored = [row for start in span.starts if (row := snapshot.row(self.name, encoded, start)) is not None]
        return self.row_of(shown, period, stored, as_of) if stored else None

    def row_of(
        self, key: Mapping[str, Value], period: RowPeriod | None, stored: list[bytes] | tuple[bytes], as_of: AsOf
    ) -> Row:
        try:
            values = self.values.values(stored, key)
        except ChronicleError as error:
            raise explained(error, self.name, key) from error
        return Row(self.name, key, period, values, as_of, self.schema)

    def _span(self, key: Mapping[str, Value], at: Moment | None, label: str | None, as_of: AsOf) -> Span | None:
        spans = self.spans.of(self.state, key) if isinstance(self.spans, KeyedSpans) else self.spans
        if spans is None:
            return None
        if label is not None:
            return spans.labelled(label)
        instant = as_of.clock if at is None else instant_of(at)
        return None if instant is None else spans.at(instant)

    def _spans_of(self, snapshot: Snapshot, encoded: bytes, key: Mapping[str, Value]) -> list[Span]:
        if isinstance(self.spans, Spans):
            return self.spans.over(snapshot.starts_of(self.name, encoded))
        assert self.spans is not None
        spans = self.spans.of(self.state, key)
        first, last = snapshot.first_start(self.name), snapshot.last_start(self.name)
        if spans is None or first is None or last is None:
            return []
        return list(spans.between(first, last))

    def _snapshot(self, encoded: bytes, after: str | Token | None, wait: float) -> Snapshot:
        opened_in, shards = self._shards
        if opened_in != lineage():  # a fork must not go on with its parent's handles
            shards = [self.state.shard(index) for index in range(self.state.shards)]
            self._shards = (lineage(), shards)
        shard = shards[shard_of(encoded, len(shards))]
        if after is not None:
            self._views.wait_for(shard, after, wait)
        return shard.read()

    def _refuse_both(self, at: Moment | None, period: str | None) -> None:
        if at is not None and period is not None:
            raise UsageError("give an instant or a period's label, not both")
        if self.spans is None and (at is not None or period is not None):
            raise UsageError(f"view {self.name} has no periods", "its row is about the whole chronicle")
