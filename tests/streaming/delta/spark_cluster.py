"""A standalone cluster from the pip-installed pyspark: a master and two workers, whose executors are processes of
their own. On loopback, stopped by process id."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

_WORKERS = 2
_PATIENCE = 240.0
_ROOT = Path(__file__).parents[3]


@dataclass(slots=True)
class SparkCluster:
    directory: Path
    url: str = ""
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        master = self._begin("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._told(master, r"Starting Spark master at (spark://\S+)")
        for number in range(_WORKERS):
            own = self.directory / f"worker{number}"
            size = ("--cores", "1", "--memory", "1500m", "--webui-port", "0", "--work-dir", str(own))
            log = self._begin(f"worker{number}", "worker.Worker", "--host", "127.0.0.1", *size, self.url)
            self._told(log, "(Successfully registered) with master")

    def executors(self) -> list[int]:
        """The processes that run tasks, of whatever job there is."""
        workers = {process.pid for process in self._processes[1:]}
        return [pid for pid, parent, command in _all_processes() if parent in workers and "ExecutorBackend" in command]

    def stop(self) -> None:
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a worker's executors are of its group
            process.wait()

    def _begin(self, name: str, deployed: str, *arguments: str) -> Path:
        home = Path(pyspark.__file__).parent
        log = self.directory / f"{name}.log"
        with log.open("wb") as out:
            command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{deployed}", *arguments]
            environment = {
                **os.environ,
                "SPARK_HOME": str(home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": str(_ROOT),
            }
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
        self._processes.append(process)
        return log

    def _told(self, log: Path, pattern: str) -> str:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and self._processes[-1].poll() is None:
            if found := re.search(pattern, log.read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise AssertionError(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")


def _all_processes() -> Iterator[tuple[int, int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(entry.name), parent, (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()


@contextmanager
def spark_cluster(directory: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
