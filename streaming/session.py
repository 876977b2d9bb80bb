"""A Spark session for the job: quiet, on loopback, with the settings that were measured (docs/engine.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from chronicle.errors import ChronicleError

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # a TCP socket waits for acknowledgements: 40 ms for every Python stage of a small epoch
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "streaming.daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.adaptive.enabled": "false",
    # every micro-batch writes its plan down for a user interface that is not there
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.task.maxFailures": "4",
    # an epoch that is written down is repeated with the same offsets, so stopping in order is all that is needed
    "spark.sql.streaming.stopTimeout": "30s",
}


def open_session(
    master: str,
    name: str,
    *,
    jars: Sequence[Path] = (),
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """The session, made or taken over. What the JVM and the workers say goes to `log`, or to stderr where it is None;
    `settings` are further ones, which win."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName(f"chronicle {name}")
    builder = builder.config("spark.pyspark.python", os.environ["PYSPARK_PYTHON"])
    builder = builder.config("spark.driver.memory", os.environ.get("CHRONICLE_DRIVER_MEMORY", "2g"))
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    for key, value in {**_SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    try:
        with _speaking_into(log):
            session = builder.getOrCreate()
    except Exception as error:
        where = "" if log is None else f"; see {log}"
        raise ChronicleError(
            f"Spark did not start with master {master}: {_first_line(error)}{where}",
            "`chronicle doctor` says what is missing",
        ) from error
    session.sparkContext.setLogLevel("WARN")
    return session


@contextmanager
def _speaking_into(log: Path | None) -> Iterator[None]:
    """Lets the JVM that is started inside inherit the file as its stderr."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    own = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
