"""`python -m benchmarks [--quick | --write] [SUITE ...]`: runs the suites, and without names writes RESULTS.md, its
pictures and the figures of the README; what is quick goes to .quick/ and leaves these as they are.

A suite is a process of its own: the most memory it had is told, and one that fails takes nothing of the others with it.
"""

from __future__ import annotations

import argparse
import math
import pickle
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.curves import Curve
from benchmarks.figures import Figure, number, progress, table
from benchmarks.processes import watched
from benchmarks.report import QUICK_RESULTS, README, RESULTS, SUITES, Section, refresh, rewrite, write


def main() -> int:
    arguments = _arguments()
    flags = ["--quick"] if arguments.quick else []
    sections = []
    for suite in arguments.suites or SUITES:
        progress(f"{SUITES[suite]} …")
        section = run(suite, flags)
        sections.append(section)
        print(f"\n{table(section.figures)}", flush=True)
        if not arguments.suites:  # after each, so that a run that is ended leaves what it has measured
            results = QUICK_RESULTS if arguments.quick else RESULTS
            write(results, sections, " ".join(["python -m benchmarks", *flags]))
            progress(f"written to {results}")
            if not arguments.quick:
                README.write_text(refresh(README.read_text(), results.read_text()))
    if arguments.write:
        rewrite(RESULTS, sections)
        README.write_text(refresh(README.read_text(), RESULTS.read_text()))
    return int(any(section.failed for section in sections))


def run(suite: str, flags: list[str]) -> Section:
    """What `benchmarks.SUITE` measured, in a process of its own."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        found = Path(directory) / "found"
        ended = watched([sys.executable, "-m", "benchmarks.suite", suite, str(found), *flags])
        measured: list[Figure | Curve | str] = pickle.loads(found.read_bytes()) if found.exists() else []
    failed = ended.code != 0
    if failed:
        measured = [
            Figure(f"the suite `{suite}`", math.nan, "", "", f"failed with exit code {ended.code}; see what it printed")
        ]
    memory = (
        "" if ended.megabytes is None else f", {number(ended.megabytes)} MB resident at most, all processes together"
    )
    return Section(suite, tuple(measured), f"{time.perf_counter() - began:,.0f} s{memory}", failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(SUITES)}; all when none is named"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, a few minutes")
    parser.add_argument("--write", action="store_true", help="put the suites named into RESULTS.md, by themselves")
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or not arguments.suites):
        parser.error("--write is for suites that are named, at their full sizes")
    if unknown := set(arguments.suites) - set(SUITES):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
