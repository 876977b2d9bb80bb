"""The README's commands work line by line from an empty directory, and print what it shows.

In a transcript `...` stands for anything up to the next line that is shown. Ports are replaced by free ones.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chronicle.project import Project
from tests.docs.markdown import ROOT, Block, blocks_in

README = (ROOT / "README.md").read_text()
SECTIONS = ("", "A definition", "Lookups", "Deployment")
_PORTS = ("8000", "9092")
_EXIT = re.compile(r"# exit (\d)")


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    shown: str | None = None
    """What the transcript shows; None where nothing is shown."""

    @property
    def code(self) -> int:
        found = _EXIT.search(self.command)
        return int(found[1]) if found else 0


def steps_of(block: Block) -> Iterator[Step]:
    match block.language:
        case "sh":
            yield from (Step(line) for line in block.text.splitlines() if line)
        case "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                lines = part.splitlines()
                more = [line[2:] for line in lines[1:] if line.startswith("> ")]
                shown = lines[1 + len(more) :]
                yield Step("\n".join([lines[0], *more]), "\n".join(shown))
        case "python":
            yield Step(f"{shlex.quote(sys.executable)} -c {shlex.quote(block.text)}")


@dataclass(slots=True)
class Shell:
    """Runs commands as someone would type them; what they leave in the background is ended with `end`."""

    directory: Path
    groups: list[int] = field(default_factory=list)

    def run(self, command: str) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "200"}
        with tempfile.TemporaryFile("w+") as out, tempfile.NamedTemporaryFile("r") as where:
            script = f"{command}\ncode=$?; pwd > {where.name}; exit $code"
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.groups.append(process.pid)
            code = process.wait()
            self.directory = Path(where.read().strip())
            out.seek(0)
            return code, out.read()

    def end(self) -> None:
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                continue


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def pattern_of(shown: str) -> re.Pattern[str]:
    """The lines that are shown; `...` is any text."""
    return re.compile(re.escape(shown.strip()).replace(re.escape("..."), ".*?"), re.DOTALL)


def follow(blocks: Iterable[Block], directory: Path) -> None:
    """Types in all that the blocks say, one after the other."""
    ports = {port: str(free_port()) for port in _PORTS}
    shell = Shell(directory)
    try:
        for step in (step for block in blocks for step in steps_of(block)):
            command = step.command
            for written, free in ports.items():
                command = command.replace(written, free)
            code, printed = shell.run(command)
            assert code == step.code, f"$ {command}\n{printed}"
            if step.shown is not None:
                assert pattern_of(step.shown).fullmatch(printed.strip()), f"$ {command}\n{printed}"
    finally:
        shell.end()


@pytest.mark.slow
@pytest.mark.spark
def test_every_command_of_the_readme_works_from_an_empty_directory(tmp_path: Path) -> None:
    follow((block for block in blocks_in(README) if block.section in SECTIONS), tmp_path)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_the_commands_of_the_readme_for_kafka_work_with_a_real_broker(tmp_path: Path) -> None:
    begin = Block("", "sh", "chronicle init telecom --example telecom && cd telecom")
    follow([begin, *(block for block in blocks_in(README) if block.section == "Kafka")], tmp_path)


def test_the_definition_of_the_readme_is_admitted(tmp_path: Path) -> None:
    blocks = [block.text for block in blocks_in(README) if block.language == "yaml"]
    path = tmp_path / "chronicle.yaml"
    path.write_text(blocks[0])
    verdict = Project.load(path).check()
    assert not verdict.errors
    assert {name: view.cls for name, view in verdict.views.items()} == {"bill": "SCA1", "business": "SCA-join"}
