"""`chronicle export`: each view as a table of its own with finalised columns, for Spark, DuckDB, Trino and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import local_option, open_views
from chronicle.cli.options import json_option, project_options
from chronicle.errors import ChronicleError, NotFoundError

if TYPE_CHECKING:
    from chronicle.project import Project
    from views.lookup import Row, View, Views
    from views.state.storage import Storage


@click.command("export")
@click.argument("directory")
@click.argument("names", nargs=-1, metavar="[VIEW]...")
@click.option("--format", "form", type=click.Choice(["delta", "parquet"]), default="delta", show_default=True)
@local_option
@json_option
@project_options
def command(
    project: Project, directory: str, names: tuple[str, ...], form: str, local: str | None, as_json: bool
) -> int:
    """Write every VIEW (default: all) into DIRECTORY: a Delta table, or a Parquet file, with the view's name. DIRECTORY
    may be an s3:// URL.

    A table is replaced as a whole in one commit; who reads it sees the old rows or the new ones.

    \b
    chronicle export /shared/tables
    chronicle export s3://bucket/tables
    chronicle export out usage --format parquet
    """
    from views.state.storage import storage_at

    target = storage_at(directory)
    views = open_views(project, local)
    written: dict[str, int] = {}
    failed: list[ChronicleError] = []
    for name in names or _all(views):
        written[name] = _WRITERS[form](views[name], target, failed)
    if as_json:
        output.json_line({"tables": {name: {"rows": rows} for name, rows in written.items()}})
    else:
        for name, rows in written.items():
            output.result(f"{target}/{name}{'' if form == 'delta' else '.parquet'}: {rows:,} rows")
    for error in failed:
        output.failure(error.message, error.hint)
    return 1 if failed else 0


def _all(views: Views) -> list[str]:
    known = [name for name in views if name in views.state.meta.views]
    if not known:
        raise NotFoundError("there is no view in the state yet", "`chronicle run` adds them")
    return known


def _to_delta(view: View, target: Storage, failed: list[ChronicleError]) -> int:
    import pyarrow as pa
    from deltalake import CommitProperties, write_deltalake

    from chronicle.cli.formats import record_batches, table_schema

    counted = _Counted(view.scan(on_fault=failed.append))
    reader = pa.RecordBatchReader.from_batches(table_schema(view), record_batches(view, counted))
    with view.state.shard(0).read() as snapshot:
        as_of = view.as_of(snapshot)
    clock = as_of.to_json()["clock"] or ""
    said = {"chronicle.view": view.name, "chronicle.epoch": str(as_of.epoch), "chronicle.clock": clock}
    properties = CommitProperties(custom_metadata=said)
    with target.explained():
        write_deltalake(
            target.named(view.name),
            reader,
            mode="overwrite",
            schema_mode="overwrite",
            commit_properties=properties,
            storage_options=target.options,
        )
    return counted.rows


def _to_parquet(view: View, target: Storage, failed: list[ChronicleError]) -> int:
    from chronicle.cli.formats import write_parquet
    from views.state.directory import Directory

    counted = _Counted(view.scan(on_fault=failed.append))
    name = f"{view.name}.parquet"
    beside = f".{view.name}.part" if isinstance(target, Directory) else name  # an object is there when it is whole
    with target.sink(beside) as out:
        write_parquet(view, counted, out)
    if isinstance(target, Directory):
        (target.path / beside).rename(target.path / name)
    return counted.rows


class _Counted:
    """Rows that are counted as they are taken."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.rows = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.rows += 1
            yield row


_WRITERS = {"delta": _to_delta, "parquet": _to_parquet}
