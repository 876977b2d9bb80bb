"""Flink SQL from Kafka on a local mini-cluster: one job with the four views as a statement set, so that a message is
read once; mini-batches, aggregation in two phases, state in RocksDB, a checkpoint every three seconds.

The py4j that Spark brings drives Flink's own jars. The time is the job's own, without the start of the cluster. What it
answers is asked for in a second run, so that printing costs the measured one nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway

from benchmarks.contenders.topic import DEFINITION
from benchmarks.contenders.work import VIEWS, Answer, report
from chronicle.cli.machine import jar_directory
from chronicle.definitions import KafkaSource
from chronicle.project import Project

SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "parallelism.default": "2",
    "state.backend.type": "rocksdb",
    "execution.checkpointing.interval": "3 s",
    "execution.checkpointing.incremental": "true",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "taskmanager.memory.managed.size": "1 gb",
    "taskmanager.memory.network.max": "256 mb",
    "table.local-time-zone": "UTC",
}
CALLS = "caller STRING, callee STRING, seconds BIGINT, kind STRING, `at` TIMESTAMP_LTZ(3)"
OPENED = (
    "lang",
    "lang.reflect",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
    "io",
    "net",
    "nio",
    "text",
    "time",
)
UP_SECONDS = 60
NOTHING: Mapping[str, str] = {}


def main(work: Path) -> None:
    select = "SELECT {key}, count(*), sum(seconds), max(seconds) FROM calls GROUP BY {key}"
    views = {view: View(len(keys), select.format(key=", ".join(keys))) for view, keys in VIEWS.items()}
    race(work, [reading("calls", CALLS, servers_of(work))], views)


@dataclass(frozen=True, slots=True)
class View:
    """`keys` text columns, then calls, seconds, longest."""

    keys: int
    select: str


def race(work: Path, tables: Sequence[str], views: Mapping[str, View], settings: Mapping[str, str] = NOTHING) -> None:
    """Runs the views once, and where answers are asked for once more to print them; reports."""
    jars = sorted((jar_directory() / "flink").glob("*.jar"))
    if not jars:
        print(json.dumps({"missing": "Flink"}))
        return
    with flink(work, jars) as (java, printed):

        def job(sink: str) -> float:
            return run(java, work, tables, views, {**SETTINGS, **settings}, sink)

        def answers() -> Iterator[Answer]:
            job("print")
            java.jvm.java.lang.System.out.flush()
            printed.seek(0)
            return last_rows(printed)

        report(job("blackhole"), None, answers)


def servers_of(work: Path) -> str:
    source = Project.load(work / DEFINITION).definition.source
    assert isinstance(source, KafkaSource)
    return source.servers


def reading(topic: str, columns: str, servers: str) -> str:
    """The table of a topic as it stands."""
    return (
        f"CREATE TABLE {topic} ({columns}) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', "
        f"'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset', "
        "'scan.bounded.mode' = 'latest-offset', 'json.timestamp-format.standard' = 'ISO-8601')"
    )


@contextmanager
def flink(work: Path, jars: list[Path]) -> Iterator[tuple[JavaGateway, IO[str]]]:
    """A Java process that does what Python tells it, and what it prints."""
    log = work / "flink.log"
    with (
        tempfile.TemporaryFile("w+") as printed,
        log.open("w") as said,
        subprocess.Popen(command(jars), stdout=printed, stderr=said, stdin=subprocess.DEVNULL) as process,
    ):
        java = connected(process, printed)
        try:
            yield java, printed
        except Exception as error:
            raise RuntimeError(f"Flink failed:\n{log.read_text()[-4_000:]}") from error
        finally:
            java.shutdown()
            process.terminate()


def command(jars: list[Path]) -> list[str]:
    """A Java process that waits for what Python tells it."""
    (bridge,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    classes = ":".join(map(str, [bridge, *jars]))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    return [java, "-Xmx3g", *opened, "-cp", classes, "py4j.GatewayServer", "--enable-auth", "0"]


def connected(process: subprocess.Popen[bytes], printed: IO[str]) -> JavaGateway:
    """The Java side: it prints its port and a token first."""
    deadline = time.monotonic() + UP_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        printed.seek(0)
        if len(lines := printed.read().split("\n")) > 2:
            there = GatewayParameters(port=int(lines[0]), auth_token=lines[1], auto_convert=True)
            return JavaGateway(gateway_parameters=there)
        time.sleep(0.05)
    raise RuntimeError("Flink's Java process did not come up")


def run(
    java: Any, work: Path, tables: Sequence[str], views: Mapping[str, View], settings: Mapping[str, str], sink: str
) -> float:
    """One job that keeps the views over all that the topics have; its seconds."""
    checkpoints = work / "flink-checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    stated = {**settings, "execution.checkpointing.dir": checkpoints.as_uri(), "io.tmp.dirs": str(work)}
    api = java.jvm.org.apache.flink
    environment = api.table.api.EnvironmentSettings.newInstance()
    environment = environment.withConfiguration(api.configuration.Configuration.fromMap(stated)).build()
    session = api.table.api.TableEnvironment.create(environment)
    for table in tables:
        session.executeSql(table)
    together = session.createStatementSet()
    for name, view in views.items():
        named = f", 'print-identifier' = '{name}'" if sink == "print" else ""
        keys = "".join(f"key{place} STRING, " for place in range(view.keys))
        session.executeSql(
            f"CREATE TABLE {name} ({keys}calls BIGINT, seconds BIGINT, longest BIGINT) "
            f"WITH ('connector' = '{sink}'{named})"
        )
        together.addInsertSql(f"INSERT INTO {name} {view.select}")
    client = together.execute().getJobClient().get()
    return float(client.getJobExecutionResult().get().getNetRuntime()) / 1000


def last_rows(changes: Iterable[str]) -> Iterator[Answer]:
    """The last state of each row in a log of changes like `by_kind:1> +U[local, 3, 12, 7]`: a key has one task."""
    rows: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for line in changes:
        if (opened := line.find("[")) > 0 and line[opened - 2 : opened] in ("+I", "+U"):
            *key, calls, seconds, longest = line[opened + 1 : line.rindex("]")].split(", ")
            rows[line[: line.index(":")], tuple(key)] = [calls, seconds, longest]
    for (view, key), values in rows.items():
        calls, seconds, longest = map(int, values)
        yield view, key, calls, seconds, longest


if __name__ == "__main__":
    main(Path(sys.argv[1]))
