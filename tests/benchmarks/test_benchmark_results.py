"""RESULTS.md and its pictures say what was measured, whatever failed beside it; the README shows lines of it."""

from __future__ import annotations

import math
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import report as written
from benchmarks.__main__ import run
from benchmarks.curves import Curve, exponent, picture
from benchmarks.figures import Figure, table
from benchmarks.processes import watched
from benchmarks.report import README, RESULTS, Section, refresh, report, shown

CURVE = Curve("rows", "A <lookup>", "rows", "µs", {"": [(10, 2.0), (1_000, 20.0), (100_000, 200.0)]})


def figures() -> list[Figure]:
    return [
        Figure("ours", 200_000, "calls/s", "", "1 to 2"),
        Figure("ours | theirs", 4.0, "times", ">= 5", ""),
        Figure("theirs", math.nan, "", "", "not measured: theirs is not installed"),
    ]


def test_the_figures_of_the_readme_are_those_of_the_results() -> None:
    results = RESULTS.read_text() if RESULTS.exists() else ""
    readme = README.read_text()
    assert refresh(readme, results) == readme, "run `python -m benchmarks`, or put the lines of RESULTS.md there"


def test_the_readme_shows_every_line_of_the_chosen_suites_without_details() -> None:
    results = report([Section("engine", tuple(figures()), "3 s"), Section("checking", (figures()[0],), "1 s")], "bench")
    lines = shown(results).splitlines()
    assert lines[0].startswith("[All results](benchmarks/RESULTS.md): `bench`, ")
    assert lines[4:] == [
        "| ours | 200,000 calls/s |  |  |",
        "| ours &#124; theirs | 4 times | >= 5 | **no** |",
        "| theirs | - |  |  |",
    ]


def test_a_refreshed_readme_keeps_the_rest() -> None:
    readme = f"before\n{written.BEGIN}\nold\n{written.END}\nafter\n"
    assert refresh(readme, "") == f"before\n{written.BEGIN}\n{written.NOT_YET}\n{written.END}\nafter\n"


def test_what_was_not_measured_is_not_called_missed() -> None:
    assert "**no**" not in table([Figure("ours against theirs", math.nan, "times", ">= 5")])


def test_a_suite_that_fails_is_told_and_takes_nothing_of_the_others() -> None:
    failed = run("no_such_suite", [])
    assert failed.failed
    assert "failed with exit code 1" in failed.figures[0].detail


def test_who_takes_too_long_is_given_up_with_all_its_children() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    ended = watched([sys.executable, "-c", child], patience=1.0)
    assert ended.code == -signal.SIGKILL


def test_the_exponent_is_the_slope_of_the_logarithms() -> None:
    assert exponent(CURVE.lines[""]) == pytest.approx(0.5)
    (figure,) = CURVE.figures({"": "<= 200"})
    assert (figure.value, figure.met) == (100.0, True)
    assert "n^0.50" in figure.detail


def test_a_picture_is_an_svg_for_light_and_dark_beside_the_results(tmp_path: Path) -> None:
    results = tmp_path / "made" / "RESULTS.md"
    written.write(results, [Section("growth", (CURVE, "who can"), "1 s")], "bench")
    made = (tmp_path / "made" / "pictures" / "rows.svg").read_text()
    assert made == picture(CURVE)
    tree = ElementTree.fromstring(made)
    assert len(tree.findall(".//{*}circle")) == 3
    assert "prefers-color-scheme: dark" in made
    assert "![A <lookup>](pictures/rows.svg)\n\nwho can" in results.read_text()


def test_every_picture_that_the_results_show_is_there() -> None:
    results = RESULTS.read_text() if RESULTS.exists() else ""
    named = [line.split("(")[-1].rstrip(")") for line in results.splitlines() if line.startswith("![")]
    assert [name for name in named if not (RESULTS.parent / name).is_file()] == []


def test_a_suite_that_was_run_by_itself_takes_its_place_and_no_others(tmp_path: Path) -> None:
    results = tmp_path / "RESULTS.md"
    sections = [Section("engine", tuple(figures()), "3 s"), Section("growth", (CURVE,), "1 s")]
    written.write(results, sections, "bench")
    before = results.read_text()
    written.rewrite(results, [Section("engine", (figures()[0],), "9 s")])
    after = results.read_text()
    assert "theirs" in before
    assert "theirs" not in after
    assert "9 s; run by itself" in after
    assert after[after.index("## How the cost") :] == before[before.index("## How the cost") :]
    assert after.startswith(before[: before.index("## ")])
    assert (tmp_path / "pictures" / "rows.svg").exists()
