"""A contender as a process of its own: what it printed, and the most memory that it and its children had."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 1_800
"""A contender that takes longer than this is given up, and is one that failed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """`megabytes` is the largest sum of resident memory seen, what several processes share counted once; None where
    the system does not tell."""

    printed: Any
    megabytes: float | None
    code: int = 0

    @property
    def memory(self) -> str:
        """To be put behind what else is said."""
        return "" if self.megabytes is None else f"; {self.megabytes:,.0f} MB at most"


def contend(name: str, work: Path, *arguments: str) -> Ended:
    """Runs `benchmarks.contenders.NAME` and reads the JSON line that it prints last."""
    command = [sys.executable, "-m", f"benchmarks.contenders.{name}", str(work), *arguments]
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
        ended = watched(command, printed, said, PATIENCE_SECONDS)
        printed.seek(0)
        lines = printed.read().splitlines()
        if ended.code or not lines:
            said.seek(0)
            raise RuntimeError(f"{name} ended with {ended.code}:\n{said.read()[-4_000:]}")
    return Ended(json.loads(lines[-1]), ended.megabytes)


def watched(
    command: list[str], printed: IO[str] | None = None, said: IO[str] | None = None, patience: float = math.inf
) -> Ended:
    """Runs a command to its end, and looks at its memory now and then; ends it where that takes too long."""
    most, began = 0.0, time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=printed, stderr=said) as process:
        while process.poll() is None:
            family = _family(process.pid)
            most = max(most, sum(_megabytes(each) for each in family))
            if time.monotonic() - began > patience:
                for each in family:
                    _end(each)
            time.sleep(LOOK_SECONDS)
    return Ended(None, most or None, process.returncode)


def _family(process: int) -> list[int]:
    """The process and all that descend from it."""
    found = [process]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, _text(task).split())
    return found


def _end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _megabytes(process: int) -> float:
    for line in _text(Path(f"/proc/{process}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has just ended
        return ""
