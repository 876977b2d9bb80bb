"""docs/commands.md has a line for every command that there is."""

from __future__ import annotations

import re

from chronicle.cli.main import COMMANDS
from tests.docs.markdown import ROOT

PAGE = (ROOT / "docs" / "commands.md").read_text()


def test_every_command_has_a_line_and_every_line_a_command() -> None:
    assert set(re.findall(r"^\| `chronicle (\w+)", PAGE, re.MULTILINE)) == set(COMMANDS)
