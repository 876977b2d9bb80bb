"""Polars in batch over the same files: no state, no increments, no durability."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.contenders.work import VIEWS, Answer, report

try:
    import polars as pl  # type: ignore[import-not-found, unused-ignore]  # optional
except ImportError:
    print(json.dumps({"missing": "Polars"}))
    sys.exit()


def main(work: Path) -> None:
    schema = {"caller": pl.String, "callee": pl.String, "seconds": pl.Int64, "kind": pl.String, "at": pl.String}
    began = time.perf_counter()
    calls = pl.read_ndjson(sorted(work.glob("calls-*.jsonl")), schema=schema)
    calls = calls.with_columns(pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%SZ"))
    values = [pl.len().alias("calls"), pl.col("seconds").sum(), pl.col("seconds").max().alias("longest")]
    found = {view: calls.group_by(keys).agg(values) for view, keys in VIEWS.items()}
    seconds = time.perf_counter() - began

    def answers() -> Iterator[Answer]:
        for view, frame in found.items():
            for row in frame.iter_rows():
                yield (view, row[:-3], *row[-3:])

    report(seconds, None, answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
