"""DuckDB in batch over the same files: no state, no increments, no durability; the practical limit of a machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb

from benchmarks.contenders.work import VIEWS, report


def main(work: Path) -> None:
    connection = duckdb.connect()
    began = time.perf_counter()
    connection.execute(
        "create table calls as select * from read_json(?, format = 'newline_delimited', columns = "
        "{caller: 'VARCHAR', callee: 'VARCHAR', seconds: 'BIGINT', kind: 'VARCHAR', \"at\": 'TIMESTAMPTZ'})",
        [str(work / "calls-*.jsonl")],
    )
    found = {}
    for view, keys in VIEWS.items():
        query = f"select {', '.join(keys)}, count(*), sum(seconds)::bigint, max(seconds) from calls group by all"
        found[view] = connection.execute(query).fetchall()
    seconds = time.perf_counter() - began
    rows = ((view, row[:-3], *row[-3:]) for view, of in found.items() for row in of)
    report(seconds, seconds, rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
