"""A Spark session for one batch answer, gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from chronicle.expressions import SPARK_SETTINGS
from streaming.session import open_session


@contextmanager
def batch_session(master: str, log: Path | None, jars: Sequence[Path] = ()) -> Iterator[SparkSession]:
    """The session that this process has already, which is left alone, or a new one, whose messages go to `log`."""
    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    session = open_session(master, "recompute", jars=jars, log=log, settings=SPARK_SETTINGS)
    try:
        yield session
    finally:
        session.stop()
