"""The Delta table of a state: `STATE/table`, columns (kind, epoch, shard, blob), partitioned by kind and epoch.

An epoch is one commit: files of kind `partial` (a row a shard and map: the blob of `views.kernel.wire`) and one of kind
`ledger` (one row, shard -1, JSON). A compaction commits files of kind `snapshot` in place of all up to its epoch, with
`dataChange: false`: who tails the log passes over it. Files lie flat in directories named by their kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from views.state.meta import Meta
from views.state.storage import Storage

TABLE = "table"
LOG = f"{TABLE}/_delta_log"
PARTIAL, LEDGER, SNAPSHOT = "partial", "ledger", "snapshot"
NO_SHARD = -1
PARTITIONED_BY = ["kind", "epoch"]

SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("epoch", pa.int64()),
        pa.field("shard", pa.int32()),
        pa.field("blob", pa.binary()),
    ]
)
_FILE_SCHEMA = pa.schema([SCHEMA.field("shard"), SCHEMA.field("blob")])
_CONFIGURATION = {
    "delta.checkpointInterval": "100",  # a checkpoint costs tens of milliseconds, and bounds how much log is replayed
    "delta.logRetentionDuration": "interval 7 days",
}

Share = tuple[int, bytes]
"""A shard's number and its blob."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the table. `path` is relative to it."""

    kind: str
    epoch: int
    path: str
    size: int

    def added(self, *, data_change: bool = True) -> AddAction:
        partition = {"kind": self.kind, "epoch": str(self.epoch)}
        return AddAction(self.path, self.size, partition, time.time_ns() // 1_000_000, data_change, "{}")


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of the table: the files that it adds with new data."""

    version: int
    files: tuple[File, ...]

    @property
    def epoch(self) -> int | None:
        """The epoch that the commit is; None for the others (a table made, a term begun, a compaction)."""
        return next((file.epoch for file in self.files if file.kind == LEDGER), None)


def open_table(home: Storage) -> DeltaTable:
    """The table as it is now."""
    with home.explained():
        return DeltaTable(home.named(TABLE), storage_options=home.options)


def create_table(home: Storage, meta: Meta) -> None:
    """The table of a state, made if it is not there yet; of several who make it at once one does."""
    with home.explained(), suppress(CommitFailedError):
        DeltaTable.create(
            home.named(TABLE),
            SCHEMA,
            mode="ignore",
            partition_by=PARTITIONED_BY,
            name=meta.group,
            description=f"partials of the chronicle state {meta.id}",
            configuration=_CONFIGURATION,
            storage_options=home.options,
        )


def write_file(home: Storage, kind: str, epoch: int, shares: Iterable[Share]) -> File:
    """A new file with these rows, durable when this returns; it is no part of the table before it is committed. Every
    row is a group of its own, so that a reader of one shard skips the others and a writer holds one in memory."""
    relative = f"{kind}/{epoch:012d}-{uuid4().hex}.parquet"
    with home.sink(f"{TABLE}/{relative}") as out:
        with pq.ParquetWriter(
            out,
            _FILE_SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=False,
            write_statistics=["shard"],
        ) as writer:
            for shard, blob in shares:
                writer.write_batch(pa.record_batch([[shard], [blob]], schema=_FILE_SCHEMA))
        size = out.tell()
    return File(kind, epoch, relative, size)


def read_shares(home: Storage, file: File, shard: int | None = None) -> Iterator[Share]:
    """The rows of a file, or those of one shard. FileNotFoundError where a vacuum took it."""
    source = home.source(f"{TABLE}/{file.path}", file.size, whole=shard is None)
    with source as opened, pq.ParquetFile(opened) as parquet:
        for group in range(parquet.num_row_groups):
            if shard is not None and not _may_hold(parquet, group, shard):
                continue
            rows = parquet.read_row_group(group, columns=["shard", "blob"])
            for number, blob in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
                if shard is None or number == shard:
                    yield number, blob


def _may_hold(parquet: pq.ParquetFile, group: int, shard: int) -> bool:
    statistics = parquet.metadata.row_group(group).column(0).statistics
    return statistics is None or not statistics.has_min_max or statistics.min <= shard <= statistics.max


def active_files(table: DeltaTable) -> list[File]:
    """The files that make up the table as it was loaded, oldest epoch first."""
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    files = [File(add["partition.kind"], add["partition.epoch"], add["path"], add["size_bytes"]) for add in actions]
    return sorted(files, key=lambda file: (file.epoch, file.kind, file.path))


def read_commit(home: Storage, version: int) -> Commit | None:
    """A version of the log; None where there is no such file: not yet, or no longer (see `is_overtaken`)."""
    try:
        content = home.read(f"{LOG}/{version:020d}.json")
    except FileNotFoundError:
        return None
    actions: Sequence[dict[str, Any]] = [orjson.loads(line) for line in content.splitlines() if line]
    added = [action["add"] for action in actions if "add" in action and action["add"]["dataChange"]]
    return Commit(
        version,
        tuple(
            File(add["partitionValues"]["kind"], int(add["partitionValues"]["epoch"]), add["path"], add["size"])
            for add in added
        ),
    )


def is_overtaken(home: Storage, version: int) -> bool:
    """Whether a version that cannot be read was cleaned away: the log is cleaned before a checkpoint only."""
    try:
        checkpoint = orjson.loads(home.read(f"{LOG}/_last_checkpoint"))
    except FileNotFoundError:
        return False
    return checkpoint["version"] >= version and read_commit(home, version) is None
