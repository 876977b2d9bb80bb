"""DuckDB in batch over the same files: an as-of join, and thirty rows of each call for the moving days."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.contenders.billing import VIEWS, ZONE
from benchmarks.contenders.work import Answer, report

VALUES = "count(*), sum(seconds)::bigint, max(seconds)"
QUERIES = {
    "jersey": f'select caller, {VALUES} from calls asof join customers on caller = number and "at" >= since '
    "where state = 'NJ' group by all",
    "monthly": f"select caller, strftime(local, '%Y-%m'), {VALUES} from calls group by all",
    "moving": f"select caller, strftime(local::date - back::integer, '%Y-%m-%d'), {VALUES} "
    "from calls, range(30) as days(back) group by all",
}


def main(work: Path) -> None:
    connection = duckdb.connect()
    began = time.perf_counter()
    read = "read_json(?, format = 'newline_delimited', columns = "
    connection.execute(
        f"create table calls as select *, timezone('{ZONE}', \"at\") as local from "
        f"{read} {{caller: 'VARCHAR', seconds: 'BIGINT', \"at\": 'TIMESTAMPTZ'}})",
        [str(work / "calls-*.jsonl")],
    )
    connection.execute(
        "create table customers as select number, state, _from as since from "
        f"{read} {{number: 'VARCHAR', state: 'VARCHAR', _from: 'TIMESTAMPTZ'}})",
        [str(work / "customers.jsonl")],
    )
    for view in VIEWS:
        connection.execute(f"create table {view} as {QUERIES[view]}")
    seconds = time.perf_counter() - began

    def answers() -> Iterator[Answer]:
        for view in VIEWS:
            for row in connection.execute(f"from {view}").fetchall():
                yield (view, row[:-3], *row[-3:])

    report(seconds, None, answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
