"""All rows of a view, in order of period and key, streamed: shards and panes are merged, never gathered."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING

from calendars import PeriodState
from chronicle.errors import ChronicleError
from views.lookup.faults import PeriodExpiredError
from views.lookup.keyed import KeyedSpans
from views.lookup.periods import Span, Spans
from views.lookup.row import AsOf, Row
from views.state import NO_PERIOD, Snapshot

if TYPE_CHECKING:
    from views.lookup.view import View

Source = tuple[Snapshot, AsOf]
Piece = tuple[bytes, int, bytes]
"""Group key, the number of its shard, and the stored row of one pane."""
Make = Callable[[], Row | None]
"""A row that is there, with its values still to be worked out."""


def scan(
    view: View, label: str | None, limit: int | None, prefix: bytes, on_fault: Callable[[ChronicleError], None] | None
) -> Iterator[Row]:
    with ExitStack() as opened:
        sources: list[Source] = []
        for index in range(view.state.shards):
            snapshot = opened.enter_context(view.state.shard(index).read())
            sources.append((snapshot, view.as_of(snapshot)))
        rows = (_made(make, on_fault) for make in _rows(view, sources, label, prefix))
        yield from islice((row for row in rows if row is not None), limit)


def _made(make: Make, on_fault: Callable[[ChronicleError], None] | None) -> Row | None:
    try:
        return make()
    except ChronicleError as error:
        if on_fault is None:
            raise
        on_fault(error)
        return None


def _rows(view: View, sources: list[Source], label: str | None, prefix: bytes) -> Iterator[Make]:
    match view.spans:
        case None:
            yield from _of_span(view, sources, None, prefix)
        case Spans() as spans:
            for span in _retained(view, sources, spans, label):
                yield from _of_span(view, sources, span, prefix)
        case KeyedSpans() as spans:
            yield from _keyed(view, sources, spans, label, prefix)


def _retained(view: View, sources: list[Source], spans: Spans, label: str | None) -> Iterable[Span]:
    if label is not None:
        wanted = [spans.labelled(label)]
    else:
        wanted = spans.over({entry.start for snapshot, _ in sources for entry in snapshot.periods(view.name)})
    clocks = [as_of.standing.least_clock for _, as_of in sources]
    retained = [span for span in wanted if all(span.state(clock) is not PeriodState.EXPIRED for clock in clocks)]
    if label is not None and not retained:
        raise PeriodExpiredError(view.name, label)
    return retained


def _of_span(view: View, sources: list[Source], span: Span | None, prefix: bytes) -> Iterator[Make]:
    starts = (NO_PERIOD,) if span is None else span.starts
    pieces = [
        _pieces(view, snapshot, number, start, prefix)
        for number, (snapshot, _) in enumerate(sources)
        for start in starts
    ]
    for (key, number), same in groupby(heapq.merge(*pieces, key=itemgetter(0)), key=itemgetter(0, 1)):
        as_of = sources[number][1]
        period = None if span is None else span.shown(as_of.standing.least_clock)
        yield partial(view.row_of, view.keys.decode(key), period, [stored for _, _, stored in same], as_of)


def _pieces(view: View, snapshot: Snapshot, number: int, start: int, prefix: bytes) -> Iterator[Piece]:
    for _, key, stored in snapshot.rows(view.name, start, prefix):
        yield key, number, stored


def _starts(view: View, snapshot: Snapshot, number: int) -> Iterator[tuple[int, bytes, int]]:
    for start, key, _ in snapshot.rows(view.name):
        yield start, key, number


def _keyed(view: View, sources: list[Source], spans: KeyedSpans, label: str | None, prefix: bytes) -> Iterator[Make]:
    """Every key has its own periods: a row is shown with its first pane that is stored."""
    streams = [_starts(view, snapshot, number) for number, (snapshot, _) in enumerate(sources)]
    for start, encoded, number in heapq.merge(*streams):
        if not encoded.startswith(prefix):
            continue
        snapshot, as_of = sources[number]
        key = view.keys.decode(encoded)
        own = spans.of(view.state, key)
        for span in own.over([start]) if own is not None else ():
            before = (at for at in span.starts if at < start)
            if label not in (None, span.label) or span.state(as_of.standing.least_clock) is PeriodState.EXPIRED:
                continue
            if any(snapshot.row(view.name, encoded, at) is not None for at in before):
                continue
            yield partial(view.row_in, snapshot, encoded, key, span, as_of)
