"""Every `chronicle` command and every flag in docs/, README, CONTRIBUTING and deploy/ exists."""

from __future__ import annotations

import pytest
from command_lines import ROOT, calls_in, faults_of

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/**/*.md")]
    if "chronicle" in path.read_text()
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_flag_in_a_page_exists(page: object) -> None:
    text = ROOT.joinpath(str(page)).read_text()
    faults = {call: found for call in calls_in(text) if (found := faults_of(call))}
    assert faults == {}


def test_a_wrong_flag_and_a_wrong_command_are_found() -> None:
    block = "```sh\nchronicle serv\ncd x && chronicle append calls \\\n  --stict\n```\n"
    page = f"Say `chronicle get VIEW --perod X`.\n{block}"
    assert [faults_of(call) for call in calls_in(page)] == [
        ["there is no command serv"],
        ["chronicle append has no --stict"],
        ["chronicle get has no --perod"],
    ]


def test_tables_and_pipes_are_read_as_commands() -> None:
    page = "`chronicle get VIEW [--at T \\| --all]`\n```sh\ncat x | chronicle append calls --format jsonl\n```\n"
    assert [call.split()[0] for call in calls_in(page)] == ["append", "get"]
    assert [faults_of(call) for call in calls_in(page)] == [[], []]
