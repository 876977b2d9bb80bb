"""The cost of an append at ten times the history and at ten times the relations, against what the bound allows."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chronicle.definitions import Definition
from chronicle.errors import ChronicleError
from views.checked import CheckedView
from views.kernel.engine import KernelError
from views.measure.trial import Trial

HISTORY = 10_000
VERSIONS = 1_000
"""Of each relation, divided by ten for every join that scans one: such a view costs |R|^k."""

TIMES = 10
EPOCH = 2_000
ROUNDS = 5
NOISE = 1.5
"""How much more than the bound is put down to the machine."""


@dataclass(frozen=True, slots=True)
class Point:
    """`microseconds` of processor for an append, the least of some epochs: whatever else runs only adds."""

    history: int
    versions: int | None
    microseconds: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How many times as much an append costs where something is ten times as much, and what the bound allows."""

    ratio: float
    allowed: float

    @property
    def within(self) -> bool:
        return self.ratio <= self.allowed * NOISE


@dataclass(frozen=True, slots=True)
class Cost:
    """`versions` is None where the view joins no relation."""

    appends: int
    points: tuple[Point, ...]
    history: Growth
    versions: Growth | None


def measure(definition: Definition, view: CheckedView) -> Cost:
    """Takes seconds. ChronicleError where an expression of the view cannot be computed for the samples."""
    scans = view.bound.scans
    versions = max(2, VERSIONS // TIMES**scans) if view.bound.relations else 0
    sizes = [(HISTORY, versions), (TIMES * HISTORY, versions)]
    if versions:
        sizes.append((HISTORY, TIMES * versions))
    with tempfile.TemporaryDirectory(prefix="chronicle-measure-") as directory:
        try:
            first, longer, *wider = _points(definition, view, Path(directory), sizes)
        except KernelError as error:
            raise ChronicleError(
                f"{view.name} cannot be measured with generated appends: {error.message}",
                "its expressions ask for values of their own kind; run it on real appends instead",
            ) from error
    allowed = TIMES**scans * math.log(TIMES * versions) / math.log(versions) if versions else 1.0
    return Cost(
        EPOCH,
        (first, longer, *wider),
        Growth(longer.microseconds / first.microseconds, 1.0),
        Growth(wider[0].microseconds / first.microseconds, allowed) if wider else None,
    )


def _points(
    definition: Definition, view: CheckedView, directory: Path, sizes: Sequence[tuple[int, int]]
) -> list[Point]:
    """A trial for each size; their epochs take turns, so that all meet the same machine."""
    trials = [
        Trial.begin(definition, view, directory / str(place), versions) for place, (_, versions) in enumerate(sizes)
    ]
    try:
        for trial, (history, _) in zip(trials, sizes, strict=True):
            while trial.history < history:
                trial.append(HISTORY)
        rounds = [[trial.append(EPOCH) for trial in trials] for _ in range(ROUNDS)]
    finally:
        for trial in trials:
            trial.state.close()
    least = [min(seconds) / EPOCH * 1e6 for seconds in zip(*rounds, strict=True)]
    return [Point(history, versions or None, cost) for (history, versions), cost in zip(sizes, least, strict=True)]
