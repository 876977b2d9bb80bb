"""DuckDB as the kernels use it: one connection per process, one thread, tables by name for the time of an epoch."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from chronicle.errors import ChronicleError


class KernelError(ChronicleError):
    """A value that an expression cannot compute (an overflow, a cast). The message names the view and the append."""


class Engine:
    """SQL over Arrow tables that are registered by name; a table stays until the next of its name."""

    def __init__(self) -> None:
        # each Spark task has one core, and what it holds is bounded by --max-batch
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._connection.execute("SET preserve_insertion_order = false")
        self._tables: set[str] = set()

    def register(self, name: str, table: pa.Table) -> None:
        self._connection.register(name, table)
        self._tables.add(name)

    def clear(self) -> None:
        """Lets go of every table, so that an epoch's memory does not outlive it."""
        for name in self._tables:
            self._connection.unregister(name)
        self._tables.clear()

    def query(self, sql: str) -> pa.Table:
        """The result, each column in one piece; KernelError where a value cannot be computed."""
        try:
            result: pa.Table = self._connection.sql(sql).to_arrow_table()
            return result.combine_chunks()
        except duckdb.Error as error:
            raise KernelError(_plain(error)) from error


def _plain(error: duckdb.Error) -> str:
    """DuckDB's message without its kind and without the query."""
    first = str(error).strip().splitlines()[0]
    return re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", first)
