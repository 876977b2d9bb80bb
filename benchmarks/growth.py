"""Does an append cost more the longer the chronicle has become? The last tenth of many appends against the first warm
tenth, in one run of the job. The first tenth warms up: processes start, the JVM compiles, keys are seen first."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks.contenders.work import make
from benchmarks.figures import Figure
from benchmarks.processes import contend

EPOCHS = 40


def run(quick: bool) -> list[Figure]:
    calls = 1_000_000 if quick else 5_000_000
    each, tenth = calls // EPOCHS, EPOCHS // 10
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        make(work, calls, files=10)
        seconds = contend("epochs", work, str(each)).printed  # of every epoch but the first
    first, last = statistics.median(seconds[tenth - 1 : 2 * tenth - 1]), statistics.median(seconds[-tenth:])
    detail = f"{each / first:,.0f} calls/s, then {each / last:,.0f}; medians of {tenth} epochs of {each:,}"
    return [
        Figure(f"last tenth of {calls:,} appends against the first warm tenth", last / first, "times", "<= 1.1", detail)
    ]
