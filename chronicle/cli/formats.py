"""The forms of a scan. Rows are streamed: none of these holds more than a batch of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from chronicle.cli.output import printable
from chronicle.types import Kind, Value

if TYPE_CHECKING:
    import pyarrow as pa

    from views.lookup import Row, View

Writer = Callable[["View", Iterable["Row"], IO[bytes]], None]

_PERIOD = ("period", "period_start", "period_end", "period_state")
_BATCH = 10_000
_MEASURED = 500
"""Rows of a table that decide how wide its columns are."""

_WIDEST = 60
"""Characters of a column: one long text must not widen every line."""

_NUMBERS = {Kind.INT64, Kind.DOUBLE, Kind.DECIMAL}


def write_jsonl(view: View, rows: Iterable[Row], out: IO[bytes]) -> None:
    for row in rows:
        line = json.dumps(row.to_json(as_of=False), ensure_ascii=False, separators=(", ", ": "))
        out.write(line.encode() + b"\n")


def write_csv(view: View, rows: Iterable[Row], out: IO[bytes]) -> None:
    """A header, then a line a row; null is empty."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(_header(view))
    lines.writerows(_cells(row) for row in rows)
    text.detach()


def write_table(view: View, rows: Iterable[Row], out: IO[bytes]) -> None:
    """Numbers to the right, the rest to the left. A very wide cell moves the rest of its own line only."""
    header = _header(view)
    numbers = {column.name for column in view.schema.columns if column.type.kind in _NUMBERS}
    placed = [str.rjust if name in numbers else str.ljust for name in header]
    lines = (["null" if cell is None else printable(str(cell)) for cell in _cells(row)] for row in rows)
    first = list(islice(lines, _MEASURED))
    widths = [
        max(len(name), min(_WIDEST, max(map(len, column), default=0)))
        for name, *column in zip(header, *first, strict=True)
    ]
    for line in chain([header, ["-" * width for width in widths]], first, lines):
        cells = (place(cell, width) for place, cell, width in zip(placed, line, widths, strict=True))
        out.write("  ".join(cells).rstrip().encode() + b"\n")


def write_parquet(view: View, rows: Iterable[Row], out: IO[bytes]) -> None:
    """With the view's own types: decimals exact, timestamps in UTC."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(out, table_schema(view)) as writer:
        for batch in record_batches(view, rows):
            writer.write_batch(batch)


def table_schema(view: View) -> pa.Schema:
    """Key columns, then the period's where the view has periods, then the values."""
    import pyarrow as pa

    from views.state.versions import arrow_type

    keys = {column.name for column in view.key_columns}
    columns = [pa.field(column.name, arrow_type(column.type)) for column in view.schema.columns]
    period: list[Any] = []
    if view.spans is not None:
        stamp = pa.timestamp("us", "UTC")
        types = (pa.string(), stamp, stamp, pa.string())
        period = [pa.field(name, kind) for name, kind in zip(_PERIOD, types, strict=True)]
    fields = [f for f in columns if f.name in keys] + period + [f for f in columns if f.name not in keys]
    return pa.schema(fields)


def record_batches(view: View, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The rows as Arrow has them, some thousands at a time."""
    import pyarrow as pa

    schema = table_schema(view)
    for batch in _batches(rows):
        lists = zip(*(_values(row) for row in batch), strict=True)
        arrays = [pa.array(list(values), f.type) for values, f in zip(lists, schema, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _header(view: View) -> list[str]:
    keys = [column.name for column in view.key_columns]
    period = [] if view.spans is None else list(_PERIOD)
    return [*keys, *period, *(name for name in view.schema.names if name not in keys)]


def _cells(row: Row) -> list[Any]:
    shown = row.to_json(as_of=False)
    period = [] if row.period is None else list(shown["period"].values())
    cells = [*shown["key"].values(), *period, *shown["values"].values()]
    return [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]


def _values(row: Row) -> list[Value]:
    period: list[Value] = []
    if row.period is not None:
        period = [row.period.label, row.period.start, row.period.end, row.period.state.value]
    return [*row.key.values(), *period, *row.values.values()]


WRITERS: dict[str, Writer] = {
    "table": write_table,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
