"""Many views of one chronicle (§5.2): what an append costs by how many there are, where each affects three of them;
what checking and compiling them takes, and the memory of one that nothing happens to."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.curves import Curve
from benchmarks.figures import Figure, progress
from benchmarks.processes import contend

FEW, MANY, MOST = 10, 1_000, 10_000


def run(quick: bool) -> list[Figure | Curve]:
    sizes = (FEW, 100, 300) if quick else (FEW, 100, MANY, MOST)
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        for views in sizes:
            progress(f"{views:,} views")
            found[views] = contend("many_views", Path(directory), str(views)).printed
    few, most = found[FEW], found[sizes[-1]]
    curve = Curve(
        "views",
        "An append that affects three views, by how many there are",
        "views",
        "µs an append",
        {"": [(views, each["cost"]) for views, each in found.items()]},
    )
    figures = [
        Figure(
            f"an append with {views:,} views against one with {FEW}, three of them affected",
            found[views]["cost"] / few["cost"],
            "times",
            {MANY: "<= 1.5", MOST: "<= 3"}.get(views, ""),
            f"{found[views]['cost']:,.1f} µs and {few['cost']:,.1f} µs; {found[views]['resident'] / 1e6:,.0f} MB",
        )
        for views in sizes[1:]
    ]
    ready = most["check"] + most["compile"]
    idle = (most["resident"] - few["resident"]) / (sizes[-1] - FEW) / 1e3
    end = f"{sizes[-1]:,} views"
    bound = "<= 15" if sizes[-1] == MOST else ""
    figures += [
        Figure(f"{end}, checked and compiled", ready, "s", bound, f"{most['check']:.1f} s to check"),
        Figure("memory of a view that nothing happens to", idle, "kB", "<= 20", f"{end} against {FEW}"),
    ]
    return [*figures, curve]
