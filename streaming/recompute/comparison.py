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

from calendars import format_instant
from chronicle.errors import ChronicleError
from streaming.recompute.admission import Admission
from streaming.recompute.compare import Difference, compare
from streaming.recompute.retained import Retained, retained
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


def recompute(views: Views, spark: SparkSession, names: Sequence[str] = ()) -> Report:
    """Compares the named views (all, if none is), as far as the state has come."""
    skipped = {} if names else _absent(views)
    wanted = [name for name in names or views if name not in skipped]
    stored = read_stored(views, wanted)
    found = retained(views, stored.standing)
    results = {name: Compared(views.checked[name], skipped=reason) for name, reason in skipped.items()}
    with _tables(views, spark, found) as tables:
        found = found.counted(views.project.definition, tables.admission.counts)
        batches: dict[str, Rows] = {}
        for name in wanted:
            view = views.checked[name]
            since = {int(slot): offset for slot, offset in views.state.meta.views[name].since.items()}
            if reason := "; ".join(_refusals(views, view, found, tables.admission, since)):
                results[name] = Compared(view, skipped=reason)
                continue
            batches[name] = _batch(view, tables, stored.standing, since)
            results[name] = _compared(view, batches[name], stored.views[name], found)
        fates = _fates(views, tables, batches, found) if len(batches) == len(views) else {}
    ordered = {name: results[name] for name in views if name in results}
    return Report(found.appends, stored.standing.epoch, ordered, fates)


def _absent(views: Views) -> dict[str, str]:
    """The views that the state has not, with the reason; asked for by name they are an error."""
    known = views.state.meta.views
    return {name: "it is not in the state yet; `chronicle run` adds it" for name in views if name not in known}


def _refusals(
    views: Views, view: CheckedView, found: Retained, admission: Admission, since: Mapping[int, int]
) -> Iterator[str]:
    """Why the view cannot be compared at all; nothing where it can."""
    joined = sorted({node.relation for node in nodes(view.summary.input) if isinstance(node, RelationJoin)})
    if found.gone and joined:
        yield f"{found.gone}, and with them versions of {', '.join(joined)}"
    if found.gone and view.period is None and since.get(0, 0) < found.first:
        yield f"{found.gone}, and the view has no periods, so every row is about them too"
    for relation in joined:
        if relation in found.lacking:
            yield f"versions of {relation} are not all known: {found.lacking[relation]}"
        crossed = admission.crossed[relation]
        if crossed and views.project.definition.relations[relation].retroactive != "correct":
            yield (
                f"{crossed:,} changes of {relation} came in epochs in which other slots had tuples: which of these "
                "knew them is not retained (with a topic of its own for the relation that does not happen)"
            )


@contextmanager
def _tables(views: Views, spark: SparkSession, found: Retained) -> Iterator[Tables]:
    session = session_of(spark)
    tables = load(session, views.project.definition, found.read(session), found.topics, found.stretches)
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


def _compared(view: CheckedView, batch: Rows, stored: StoredRows, found: Retained) -> Compared:
    note = ""
    rows = stored.rows
    horizon = found.horizon
    if horizon is not None and view.period is not None:
        note = f"only periods that start after {format_instant(horizon)}: before it appends are no longer retained"

        def is_whole(row: RowKey) -> bool:
            return row.start is not None and row.start > horizon

        rows = {key: values for key, values in rows.items() if is_whole(key)}
        batch = Rows({key: row for key, row in batch.rows.items() if is_whole(key)}, batch.overflowed, batch.late)
    faults = stored.faults if len(stored.faults) != len(batch.overflowed) else ()
    return Compared(view, len(batch.rows), compare(view, batch, rows), faults, note)


def _fates(views: Views, tables: Tables, batches: Mapping[str, Rows], found: Retained) -> dict[str, tuple[int, int]]:
    """Where the ledger counts otherwise; asked only where every view there ever was saw every append."""
    registered = views.state.meta.views
    added_later = any(any(each.since.values()) for each in registered.values())
    if not found.complete or set(registered) != set(views) or added_later:
        return {}
    late: set[int] = set().union(*(batch.late for batch in batches.values()))
    counted = Tally({0: tables.admission.fates}).total()
    counted["applied"] -= len(late)
    counted["late"] += len(late)
    ledger = views.ledger(limit=0).fates
    return {fate: (ledger[fate], count) for fate, count in counted.items() if ledger[fate] != count}
