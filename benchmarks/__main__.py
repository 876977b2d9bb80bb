"""`python -m benchmarks [--quick] [SUITE ...]`: runs the suites and writes benchmarks/RESULTS.md."""

from __future__ import annotations

import argparse
import importlib
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure, machine, table

SUITES = {
    "calendars": "Calendars: instants to periods",
    "checking": "Checking definitions",
    "lookups": "Lookups",
    "engine": "The engine beside native Structured Streaming and DuckDB",
    "kafka": "From Kafka, beside native Structured Streaming and Delta MERGE",
    "growth": "How the cost of an append grows",
}
RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    arguments = _arguments()
    sections: dict[str, list[Figure]] = {}
    for suite in arguments.suites or SUITES:
        print(f"{SUITES[suite]} …", file=sys.stderr, flush=True)
        sections[suite] = importlib.import_module(f"benchmarks.{suite}").run(quick=arguments.quick)
        print(table(sections[suite]), flush=True)
    if not arguments.suites:
        RESULTS.write_text(report(sections, arguments.quick))
        print(f"written to {RESULTS.relative_to(Path.cwd())}", file=sys.stderr)


def report(sections: dict[str, list[Figure]], quick: bool) -> str:
    command = "make bench-quick" if quick else "make bench"
    parts = [f"# Measured\n\n`{command}`, {datetime.now(UTC):%Y-%m-%d}; {machine()}"]
    parts += [f"## {SUITES[suite]}\n\n{table(figures)}" for suite, figures in sections.items()]
    return "\n".join(parts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"one of {', '.join(SUITES)}; all when none is named"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, a few minutes")
    arguments = parser.parse_args()
    if unknown := set(arguments.suites) - set(SUITES):
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    return arguments


if __name__ == "__main__":
    main()
