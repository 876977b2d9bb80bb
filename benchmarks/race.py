"""Contenders in turn, several rounds in one run, so that all meet the same machine; what is compared are their ratios.

In the first round they are asked for their answers; one that says other than most do is told apart and not compared.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks.contenders.work import FILES
from benchmarks.figures import Figure, progress
from benchmarks.processes import Ended, contend

Measure = Literal["seconds", "warm", "whole"]
MEASURED: Mapping[Measure, str] = {
    "seconds": "",
    "warm": ", without the first micro-batch",
    "whole": ", from the start of its process to its end",
}


@dataclass(frozen=True, slots=True)
class Rounds:
    """One contender's: seconds of each, those without the first micro-batch, those of its whole process (where it was
    not asked for its answers too), the most memory."""

    seconds: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def note(self, ended: Ended, whole: float | None) -> None:
        if whole is not None:
            self.whole.append(whole)
        self.seconds.append(ended.printed["seconds"])
        if ended.printed["warm"]:
            self.warm.append(ended.printed["warm"])
        if ended.megabytes is not None:
            self.megabytes.append(ended.megabytes)


@dataclass(frozen=True, slots=True)
class Race:
    """The rounds of those who ran, and why the others have none."""

    calls: int
    names: Mapping[str, str]
    rounds: Mapping[str, Rounds]
    missing: Mapping[str, str]
    what: str

    def figures(self) -> list[Figure]:
        figures = [self._rate(name) for name in self.rounds]
        for name, why in self.missing.items():
            figures.append(Figure(self.names[name], math.nan, "", "", f"not measured: {why}"))
        return figures

    def _rate(self, name: str) -> Figure:
        ran = self.rounds[name]
        rates = [self.calls / seconds for seconds in ran.seconds]
        detail = f"{min(rates):,.0f} to {max(rates):,.0f} in {len(rates)} round{'s' * (len(rates) > 1)}"
        if ran.warm:
            warm = statistics.median(self.calls * (FILES - 1) / FILES / seconds for seconds in ran.warm)
            detail += f"; {warm:,.0f} without the first micro-batch"
        if ran.megabytes:
            detail += f"; {max(ran.megabytes):,.0f} MB at most"
        what = f"{self.names[name]}, {self.calls:,} calls, {self.what}"
        return Figure(what, statistics.median(rates), "calls/s", "", detail)

    def ratio(self, ours: str, theirs: str, target: str = "", measure: Measure = "seconds") -> Figure:
        """How many times as fast `ours` is: in each round by itself, for the machine may be busier in one of them."""
        what = f"{self.names[ours]} against {self.names[theirs]}{MEASURED[measure]}"
        if absent := {ours, theirs} & self.missing.keys():
            return Figure(what, math.nan, "", target, f"not measured: {', '.join(map(self.names.__getitem__, absent))}")
        one, other = (getattr(self.rounds[name], measure) for name in (ours, theirs))
        if not one:
            return Figure(what, math.nan, "", target, "not measured in a single round")
        ratios = [their / our for our, their in zip(one, other, strict=True)]
        return Figure(what, statistics.median(ratios), "times", target, f"{min(ratios):.2g} to {max(ratios):.2g}")


def race(work: Path, calls: int, names: Mapping[str, str], rounds: int, what: str = "4 views") -> Race:
    """Runs `benchmarks.contenders.NAME` for each name in turn. One that cannot run is left out, and it is said why."""
    ran: dict[str, Rounds] = {}
    missing: dict[str, str] = {}
    answers: dict[str, str] = {}
    for number in range(rounds):
        for name in names:
            if name in missing:
                continue
            progress(f"round {number + 1} of {rounds}: {names[name]}")
            began = time.perf_counter()
            try:
                ended = contend(name, work, *(["--answers"] if number == 0 else []))
            except RuntimeError as error:
                progress(str(error))
                missing[name] = f"it failed: {_last_line(error)}"
                ran.pop(name, None)
                continue
            if absent := ended.printed.get("missing"):
                missing[name] = f"{absent} is not installed"
                continue
            if number == 0:
                answers[name] = ended.printed["digest"]
            whole = time.perf_counter() - began if number else None
            ran.setdefault(name, Rounds()).note(ended, whole)
    for name in disagreeing(answers):
        missing[name] = "its answers differ from those of the others"
        ran.pop(name, None)
    return Race(calls, names, ran, missing, what)


def _last_line(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[-1][:160].replace("|", "/")


def disagreeing(answers: Mapping[str, str]) -> list[str]:
    """Those whose answers are not what most contenders say; without such an answer nothing can be compared."""
    if not answers:
        return []
    common, agreed = Counter(answers.values()).most_common(1)[0]
    if agreed < len(answers) and 2 * agreed <= len(answers):
        raise AssertionError(f"the contenders' answers differ: {answers}")
    return [name for name, digest in answers.items() if digest != common]


def settled(seconds: Sequence[float]) -> float:
    """The median of the latter half: the JVM compiles as it goes."""
    return statistics.median(seconds[len(seconds) // 2 :])
