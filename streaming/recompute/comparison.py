"""`chronicle recompute`: the views again, by Spark SQL in batch over what the source retains, against the state.

This is the second of three answers that must agree (design: Proof): the engine, this, and the reference evaluator. It
shares with the engine what the contract is made of (definitions, decoder, calendars, expressions), and none of its
kernels and plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from calendars import UTC, add_on_wall_clock, format_instant
from chronicle.definitions import Definition, JournalSource
from chronicle.errors import ChronicleError
from chronicle.journal import Journal
from streaming.recompute.compare import Difference, compare
from streaming.recompute.records import journal_records
from streaming.recompute.rows import RowKey, Rows, rows_of
from streaming.recompute.stored import StoredRows, read_stored
from streaming.recompute.tables import Tables, load, session_of
from views.algebra import RelationJoin
from views.algebra.traversal import nodes
from views.checked import CheckedView
from views.lookup import Views
from views.state import Standing, Tally


@dataclass(frozen=True, slots=True)
class Compared:
    """One view. `skipped` says why it was not compared, `note` what of it was not; `rows` counts those of the batch.

    `faults` are rows of the view that cannot be shown, where the batch has another number of such rows.
    """

    view: CheckedView
    rows: int = 0
    differences: Sequence[Difference] = ()
    faults: Sequence[str] = ()
    note: str = ""
    skipped: str = ""

    @property
    def agrees(self) -> bool:
        return not (self.differences or self.faults or self.skipped)


@dataclass(frozen=True, slots=True)
class Report:
    """`fates`: fate -> (in the ledger, in the batch), those that differ; compared only where every view was."""

    appends: int
    epoch: int
    views: Mapping[str, Compared] = field(default_factory=dict)
    fates: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        return not self.fates and all(each.agrees for each in self.views.values())


@dataclass(frozen=True, slots=True)
class Retained:
    """The appends [first, last) of the journal; periods that start after `horizon` have all of theirs among them."""

    first: int
    last: int
    horizon: int | None

    @property
    def complete(self) -> bool:
        return self.first == 0


def recompute(views: Views, spark: SparkSession, names: Sequence[str] = ()) -> Report:
    """Compares the named views (all, if none is), as far as the state has come."""
    definition = views.project.definition
    skipped = {} if names else _absent(views)
    wanted = [name for name in names or views if name not in skipped]
    stored = read_stored(views, wanted)
    retained = _retained(views, definition, stored.standing)
    results = {name: Compared(views.checked[name], skipped=reason) for name, reason in skipped.items()}
    with _tables(views, spark, retained) as tables:
        batches: dict[str, Rows] = {}
        for name in wanted:
            view = views.checked[name]
            since = {int(slot): offset for slot, offset in views.state.meta.views[name].since.items()}
            if reason := _refusal(view, retained, since):
                results[name] = Compared(view, skipped=reason)
                continue
            batches[name] = _batch(view, tables, stored.standing, since)
            results[name] = _compared(view, batches[name], stored.views[name], retained)
        fates = _fates(views, tables, batches, retained) if len(batches) == len(views) else {}
    ordered = {name: results[name] for name in views if name in results}
    return Report(retained.last - retained.first, stored.standing.epoch, ordered, fates)


def _absent(views: Views) -> dict[str, str]:
    """The views that the state has not, with the reason; asked for by name they are an error."""
    known = views.state.meta.views
    return {name: "it is not in the state yet; `chronicle run` adds it" for name in views if name not in known}


def _retained(views: Views, definition: Definition, standing: Standing) -> Retained:
    if not isinstance(definition.source, JournalSource):
        raise ChronicleError("recompute reads journals, and the source of this group is Kafka", "see docs/recompute.md")
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
        if first == 0:
            return Retained(0, last, None)
        begins = next(journal.read(first, last), None)
    lost_until = begins.timestamp if begins is not None else standing.committed_at
    return Retained(first, last, add_on_wall_clock(UTC, lost_until, definition.max_skew))


def _refusal(view: CheckedView, retained: Retained, since: Mapping[int, int]) -> str:
    """Why the view cannot be compared at all; "" where it can."""
    if retained.complete:
        return ""
    gone = f"appends 0 to {retained.first - 1} are no longer retained"
    joined = sorted({node.relation for node in nodes(view.summary.input) if isinstance(node, RelationJoin)})
    if joined:
        return f"{gone}, and with them versions of {', '.join(joined)}"
    if view.period is None and since.get(0, 0) < retained.first:
        return f"{gone}, and the view has no periods, so every row is about them too"
    return ""


@contextmanager
def _tables(views: Views, spark: SparkSession, retained: Retained) -> Iterator[Tables]:
    session = session_of(spark)
    path = views.project.journal_path
    assert path is not None  # `_retained` has read it
    tables = load(session, views.project.definition, journal_records(session, path, retained.first, retained.last))
    try:
        yield tables
    finally:
        tables.close()


def _batch(view: CheckedView, tables: Tables, standing: Standing, since: Mapping[int, int]) -> Rows:
    try:
        return rows_of(view, tables, standing.least_clock, since)
    except PySparkException as error:
        reason = (error.getMessage() or str(error)).strip().splitlines()[0]
        raise ChronicleError(f"view {view.name} cannot be recomputed: {reason}") from error


def _compared(view: CheckedView, batch: Rows, stored: StoredRows, retained: Retained) -> Compared:
    note = ""
    rows = stored.rows
    horizon = retained.horizon
    if horizon is not None and view.period is not None:
        note = f"only periods that start after {format_instant(horizon)}: before it appends are no longer retained"

        def is_whole(row: RowKey) -> bool:
            return row.start is not None and row.start > horizon

        rows = {key: values for key, values in rows.items() if is_whole(key)}
        batch = Rows({key: row for key, row in batch.rows.items() if is_whole(key)}, batch.overflowed, batch.late)
    faults = stored.faults if len(stored.faults) != len(batch.overflowed) else ()
    return Compared(view, len(batch.rows), compare(view, batch, rows), faults, note)


def _fates(views: Views, tables: Tables, batches: Mapping[str, Rows], retained: Retained) -> dict[str, tuple[int, int]]:
    """Where the ledger counts otherwise; asked only where every view there ever was saw every append."""
    registered = views.state.meta.views
    added_later = any(any(each.since.values()) for each in registered.values())
    if not retained.complete or set(registered) != set(views) or added_later:
        return {}
    late: set[int] = set().union(*(batch.late for batch in batches.values()))
    counted = Tally({0: tables.admission.fates}).total()
    counted["applied"] -= len(late)
    counted["late"] += len(late)
    ledger = views.ledger(limit=0).fates
    return {fate: (ledger[fate], count) for fate, count in counted.items() if ledger[fate] != count}
