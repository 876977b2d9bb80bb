"""DuckDB in batch over the same files: no state, no increments, no durability; the practical limit of a machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.contenders.work import VIEWS, Answer, report


def main(work: Path) -> None:
    connection = duckdb.connect()
    began = time.perf_counter()
    connection.execute(
        "create table calls as select * from read_json(?, format = 'newline_delimited', columns = "
        "{caller: 'VARCHAR', callee: 'VARCHAR', seconds: 'BIGINT', kind: 'VARCHAR', \"at\": 'TIMESTAMPTZ'})",
        [str(work / "calls-*.jsonl")],
    )
    for view, keys in VIEWS.items():
        connection.execute(
            f"create table {view} as select {', '.join(keys)}, count(*), sum(seconds)::bigint, max(seconds) "
            "from calls group by all"
        )
    seconds = time.perf_counter() - began

    def answers() -> Iterator[Answer]:
        for view in VIEWS:
            for row in connection.execute(f"from {view}").fetchall():
                yield (view, row[:-3], *row[-3:])

    report(seconds, None, answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
