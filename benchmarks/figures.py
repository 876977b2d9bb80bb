"""A measured figure with its target, and the table of them; every suite gives `run(quick) -> list[Figure]`."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("pyspark", "duckdb", "pyarrow", "lmdb", "tzdata")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the results: what was measured, the median, and the target as `>=` or `<=` a number.

    NaN stands for what could not be measured here; the detail says why.
    """

    what: str
    value: float
    unit: str
    target: str = ""
    detail: str = ""

    @property
    def met(self) -> bool | None:
        if not self.target or math.isnan(self.value):
            return None
        sign, bound = self.target.split()
        return self.value >= float(bound) if sign == ">=" else self.value <= float(bound)


def median_seconds(work: Callable[[], object], rounds: int) -> float:
    """The median duration of `rounds` calls, after one that warms up."""
    work()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(figures: Sequence[Figure]) -> str:
    lines = ["| what | median | target | met | detail |", "|---|---:|---:|---|---|"]
    for figure in figures:
        met = {True: "yes", False: "**no**", None: ""}[figure.met]
        cells = (figure.what, f"{number(figure.value)} {figure.unit}", figure.target, met, figure.detail)
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def machine() -> str:
    """The machine and the versions, in two lines."""
    processor = next(
        (line.split(":")[1].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")),
        platform.machine(),
    )
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return f"{os.cpu_count()} cores, {processor}, Python {platform.python_version()};  \n{versions}\n"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
