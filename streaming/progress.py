"""How a running job shows itself: a live line on a terminal, one JSON line an epoch in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import orjson
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from calendars import format_instant
from streaming.job import EpochReport
from streaming.run import Beginning


class Progress:
    """Writes to stderr only: stdout is for answers."""

    def __init__(self, *, once: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._once = once
        self._began = time.monotonic()
        self._appends = 0
        self._views = 0
        self._bar: Bar | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for shown in (self._bar, self._live):
            if shown is not None:
                shown.stop()
        if kind is None:
            self._say_summary()

    def begin(self, found: Beginning) -> None:
        self._views = len(found.plan.views)
        for view in found.added_views:
            if view in found.replayable:
                self._console.print(f"view {view} is new in a state with history: it is built from the whole chronicle")
            else:
                self._console.print(
                    f"view {view} is new in a state with history: it counts from here on "
                    "(the chronicle is no longer all there to build it from)"
                )
        if not self._console.is_terminal:
            return
        if self._once:
            columns = (TextColumn("draining"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("draining", total=found.waiting)
            self._bar.start()
        else:
            self._live = Live(Text("waiting for appends (Ctrl-C stops)"), console=self._console, refresh_per_second=4)
            self._live.start()

    def epoch(self, report: EpochReport) -> None:
        if not self._appends:
            self._began = time.monotonic() - report.seconds
        self._appends += report.appends
        if self._bar is not None:
            self._bar.update(self._task, advance=report.appends)
        elif self._live is not None:
            self._live.update(self._line(report))
        elif not self._once:
            print(orjson.dumps(self._logged(report)).decode(), file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Something beside the epochs, such as a broker that is away."""
        if self._console.is_terminal or self._once:
            self._console.print(text, soft_wrap=True)
        else:
            logged = {"at": format_instant(time.time_ns() // 1000), "message": text}
            print(orjson.dumps(logged).decode(), file=sys.stderr, flush=True)

    def _line(self, report: EpochReport) -> Text:
        clock = report.standing.clock
        return Text.assemble(
            (f"epoch {report.epoch:,}", "bold"),
            f"  {report.appends / max(report.seconds, 1e-6):,.0f} appends/s  {report.seconds * 1000:,.0f} ms  ",
            f"lag {report.waiting:,}  clock {'-' if clock is None else format_instant(clock)}  {self._views} views",
        )

    def _logged(self, report: EpochReport) -> dict[str, object]:
        clock = report.standing.clock
        return {
            "at": format_instant(time.time_ns() // 1000),
            "epoch": report.epoch,
            "appends": report.appends,
            "ms": round(report.seconds * 1000),
            "lag": report.waiting,
            "clock": None if clock is None else format_instant(clock),
        }

    def _say_summary(self) -> None:
        seconds = time.monotonic() - self._began
        if self._appends:
            rate = f", {self._appends / max(seconds, 1e-6):,.0f} a second" if self._once else ""
            self._console.print(f"{self._appends:,} appends are in the views{rate}")
        elif self._once:
            self._console.print("nothing new: the views are up to date")
