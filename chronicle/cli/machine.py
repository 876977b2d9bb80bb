"""What Chronicle needs of a machine: Python, packages, Java, Maven, jars, disk. Looks only, changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from chronicle import __version__
from chronicle.errors import ChronicleError
from chronicle.project import Project

DISTRIBUTION = "chronicle-streaming"
PYTHON = (3, 11)
JAVA = (17, 21)
"""What Spark 4 runs on."""

LITTLE_DISK = 1 << 30
_JARS = (
    "spark-sql-kafka-0-10",
    "spark-token-provider-kafka-0-10",
    "kafka-clients",
    "commons-pool2",
    "delta-spark",
    "delta-storage",
)


class Status(StrEnum):
    OK = "ok"
    OPTIONAL = "optional"  # missing, and only some commands need it
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    status: Status
    found: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "status": self.status.value, "found": self.found, "fix": self.fix}


def findings() -> list[Finding]:
    return [python(), packages(), zones(), java(), maven(), jars()]


def python() -> Finding:
    found = f"{sys.version.split()[0]} at {sys.executable}, chronicle {__version__}"
    if sys.version_info < PYTHON:
        return Finding("python", Status.FAILED, found, f"install Python {'.'.join(map(str, PYTHON))} or newer")
    return Finding("python", Status.OK, found)


def packages() -> Finding:
    """What the distribution requires, against what is installed."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return Finding("packages", Status.FAILED, f"{DISTRIBUTION} is not installed", "pip install --editable .")
    names = [re.split(r"[<>=!~; \[]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    missing = [name for name in names if not _installed(name)]
    if missing:
        fix = f"pip install {' '.join(missing)}"
        return Finding("packages", Status.FAILED, f"missing: {', '.join(missing)}", fix)
    shown = ", ".join(f"{name} {metadata.version(name)}" for name in ("pyspark", "duckdb", "pyarrow", "lmdb"))
    return Finding("packages", Status.OK, f"all {len(names)}; {shown}")


def _installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def zones() -> Finding:
    if not _installed("tzdata"):
        return Finding("zones", Status.FAILED, "the tzdata package is missing", "pip install tzdata")
    return Finding("zones", Status.OK, f"tzdata {metadata.version('tzdata')}")


def java() -> Finding:
    """The Java that Spark will start: JAVA_HOME's where it is set, otherwise the PATH's."""
    fix = f"install Java {' or '.join(map(str, JAVA))} (for example openjdk-17-jre-headless) and set JAVA_HOME to it"
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        return Finding("java", Status.FAILED, "none found; `chronicle run` needs it, lookups do not", fix)
    answer = _ask(program, "-version")
    if answer is None:
        where = f"JAVA_HOME is {home}, and " if home else ""
        return Finding("java", Status.FAILED, f"{where}{program} does not run", fix)
    version = re.search(r'version "(\d+)', answer)
    found = f"{version[1] if version else 'unknown version'} at {program}"
    fits = version is not None and int(version[1]) in JAVA
    return Finding("java", Status.OK, found) if fits else Finding("java", Status.FAILED, found, fix)


def maven() -> Finding:
    program = shutil.which("mvn")
    if program is None:
        needed = "none found; only `make jars` needs it"
        return Finding("maven", Status.OPTIONAL, needed, "install maven, if you want to recompute from Kafka")
    return Finding("maven", Status.OK, program)


def jars() -> Finding:
    """The jars beside Spark's own: `recompute` reads Kafka with Spark's connector. Jobs and lookups need none."""
    directory = jar_directory() / "spark"
    there = [path.name for path in directory.glob("*.jar")] if directory.is_dir() else []
    missing = [name for name in _JARS if not any(jar.startswith(name) for jar in there)]
    if not missing:
        return Finding("jars", Status.OK, f"{len(there)} in {directory}")
    found = f"missing in {directory}: {', '.join(missing)}; only recompute over Kafka and `dev kafka` need them"
    return Finding("jars", Status.OPTIONAL, found, "make jars (or set CHRONICLE_JARS to where they are)")


def jar_directory() -> Path:
    """Where deploy/jars.sh puts them."""
    if given := os.environ.get("CHRONICLE_JARS"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "chronicle" / "jars"


def spark_jars(project: Project) -> tuple[Path, ...]:
    """Those that Spark needs to read a project's source: none for a journal."""
    if project.journal_path is not None:
        return ()
    found = tuple(sorted((jar_directory() / "spark").glob("*.jar")))
    if not any(jar.name.startswith("spark-sql-kafka") for jar in found):
        raise ChronicleError(
            f"Spark's Kafka connector is missing in {jar_directory() / 'spark'}",
            "make jars (or set CHRONICLE_JARS to where the jars are)",
        )
    return found


def disk(name: str, directory: Path) -> Finding:
    """Whether the directory, or what it would be made in, can be written and has room."""
    existing = directory.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        return Finding(name, Status.FAILED, f"{existing} is a file", "name a directory, or move the file away")
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding(name, Status.FAILED, f"{existing} cannot be written", f"chmod u+rwx {existing}")
    free = shutil.disk_usage(existing).free
    found = f"{directory}: writable, {free / (1 << 30):.1f} GB free"
    if free < LITTLE_DISK:
        return Finding(name, Status.FAILED, found, "make room: an epoch that cannot be written stops the job")
    return Finding(name, Status.OK, found)


def _ask(*command: str) -> str | None:
    """What a program says of itself; None where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None
