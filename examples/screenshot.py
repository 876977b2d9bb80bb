"""`python examples/screenshot.py docs/demo.svg`: runs the demo in a terminal of its own and draws what it showed."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 142
_MOVES = re.compile(rb"\x1b\[(?![0-9;]*m)[?0-9;]*[A-Za-z]")
_FONT = re.compile(r"@font-face \{.*?\}\n?", re.DOTALL)


def shown_by(command: list[str | Path]) -> bytes:
    """What a command writes to a terminal, both streams in their order."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "LINES": "50", "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=secondary, stderr=secondary, env=environment) as process:
        os.close(secondary)
        shown = b""
        try:
            while chunk := os.read(primary, 1 << 16):
                shown += chunk
        except OSError:  # how a terminal says that nobody writes to it any more
            pass
    os.close(primary)
    if process.returncode:
        sys.exit(shown.decode(errors="replace"))
    return shown


def lines_of(shown: bytes) -> list[str]:
    """The lines that stay, from the run on: progress bars are written over."""
    text = _MOVES.sub(b"", shown).decode().replace("\r\n", "\n")
    lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
    kept = [line for line in lines if "━" not in line]
    return kept[next(at for at, line in enumerate(kept) if "── Structured" in line) :]


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        demo = Path(__file__).with_name("demo.py")
        lines = lines_of(shown_by([sys.executable, demo, "--dir", Path(directory) / "demo"]))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in lines:
        console.print(Text.from_ansi(line.replace(f"{directory}/", "")))
    target.write_text(_FONT.sub("", console.export_svg(title="make demo")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
