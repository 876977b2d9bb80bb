"""RESULTS.md, its pictures, and the part of it that the README shows.

The README's figures stand between two marks and are lines of RESULTS.md: a test holds them to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.curves import Curve, picture
from benchmarks.figures import Figure, machine, table

SUITES = {
    "engine": "The engine from the journal, beside what people would use instead",
    "kafka": "From Kafka, beside what people would use instead",
    "freshness": "How soon a lookup shows it",
    "growth": "How the cost of an append grows",
    "views": "Many views",
    "lookups": "Lookups",
    "checking": "Checking definitions",
    "calendars": "Calendars: instants to periods",
    "billing": "Work with time in it, for who can say it",
}
SHOWN = ("engine", "kafka", "freshness", "lookups", "growth", "billing")
"""The suites whose figures the README shows."""

RESULTS = Path(__file__).with_name("RESULTS.md")
QUICK_RESULTS = Path(__file__).with_name(".quick") / "RESULTS.md"
README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- figures of benchmarks/RESULTS.md -->", "<!-- end of figures -->"
NOT_YET = "No results are written here yet."

METHOD = """Medians. Contenders take turns in one run and have to give the same answers; a ratio is the median of the
rounds' own ratios. MB are the most resident memory of a run, all its processes together. Three rounds of two million
calls (`--quick`: one of 200,000). A run begins with cold processes and a new state or table;
starting processes, sessions and workers is not counted, but in the lines that say so.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """What a suite measured, and what it has to say beside it; `took` is its time and memory."""

    suite: str
    measured: tuple[Figure | Curve | str, ...]
    took: str
    failed: bool = False

    @property
    def figures(self) -> list[Figure]:
        return [each for each in self.measured if isinstance(each, Figure)]

    @property
    def curves(self) -> list[Curve]:
        return [each for each in self.measured if isinstance(each, Curve)]


def report(sections: Sequence[Section], command: str) -> str:
    return "\n".join(
        [f"# Measured\n\n`{command}`, {datetime.now(UTC):%Y-%m-%d}; {machine()}\n{METHOD}", *_parts(sections)]
    )


def _parts(sections: Sequence[Section]) -> Iterator[str]:
    yield from _parts_of(sections)
    measured = {section.suite for section in sections}
    for suite in SUITES:
        if suite not in measured:
            yield f"## {SUITES[suite]}\n\nNot measured in this run.\n"


def _parts_of(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        pictures = "".join(f"\n![{curve.title}](pictures/{curve.name}.svg)\n" for curve in section.curves)
        texts = "".join(f"\n{each}" for each in section.measured if isinstance(each, str))
        yield f"## {SUITES[section.suite]}\n\n{section.took}.\n\n{table(section.figures)}{pictures}{texts}"


def write(results: Path, sections: Sequence[Section], command: str) -> None:
    """The report, with its pictures beside it."""
    _draw(results, sections)
    results.write_text(report(sections, command))


def rewrite(results: Path, sections: Sequence[Section]) -> None:
    """What suites measured that were run by themselves, in place of what the report has of them."""
    _draw(results, sections)
    parts = re.split(r"^(?=## )", results.read_text(), flags=re.MULTILINE)
    for section in sections:
        (own,) = _parts_of([replace(section, took=f"{section.took}; run by itself, {datetime.now(UTC):%Y-%m-%d}")])
        heading = own.partition("\n")[0]
        parts = [f"{own}\n" if part.partition("\n")[0] == heading else part for part in parts]
    results.write_text("".join(parts))


def _draw(results: Path, sections: Sequence[Section]) -> None:
    pictures = results.with_name("pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for curve in section.curves:
            (pictures / f"{curve.name}.svg").write_text(picture(curve))


def shown(results: str) -> str:
    """What the README shows of RESULTS.md: who measured what, and the tables of some suites without their details."""
    if not results:
        return NOT_YET
    head = results.split("\n\n")[1].replace("  \n", " ").strip()
    rows = [row for suite in SHOWN for row in _rows(results, SUITES[suite])]
    lines = ["| what | median | target | met |", "|---|---:|---:|---|", *rows]
    return "\n".join([f"[All results](benchmarks/RESULTS.md): {head}", "", *lines])


def _rows(results: str, title: str) -> Iterator[str]:
    """The lines of a section's table, each without the detail."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", results, re.MULTILINE | re.DOTALL)
    for line in found[1].splitlines() if found else ():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 5 and cells[0] != "what":
            yield f"| {' | '.join(cells[:4])} |"


def refresh(readme: str, results: str) -> str:
    """The README with the figures of these results between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{shown(results)}\n{END}{after}"
