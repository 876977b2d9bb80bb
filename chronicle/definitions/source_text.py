"""The text of a definition file, with lines and columns: reads it, refuses what is not text, and finds places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from chronicle.errors import Fault, Place, UsageError

MAX_BYTES = 8 * 1024 * 1024
"""A definition of 1,000 views has about 0.3 MB; this bounds the time and memory that any file can take."""

_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What YAML 1.1 counts as a line break, so that lines here and in the parser's messages agree."""

_NOT_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_SECRET = re.compile(
    r"""(?i)(?:password|passwd|secret|credential|jaas|token|api.?key)[\w.-]{0,40}["']?[^\S\r\n]*[:=][^\S\r\n]*(?=\S)"""
)
"""What stands before a value that no message shows, though its line is shown: the rest of the line is hidden."""

_MORE = 200
"""How much of a long line a place keeps on each side: a file may be one line with a fault in every word."""


@dataclass(frozen=True, slots=True)
class SourceText:
    file: str
    text: str
    line_starts: tuple[int, ...]
    _secrets: dict[int, int] = field(default_factory=dict, compare=False, repr=False)
    """Where a line that was shown begins to be hidden, by the line's start."""

    @classmethod
    def of(cls, file: str, text: str) -> SourceText:
        return cls(file, text, (0, *(match.end() for match in _LINE_BREAK.finditer(text))))

    def place(self, index: int) -> Place:
        """Where the character `index` stands."""
        index = max(0, min(index, len(self.text)))
        line = bisect_right(self.line_starts, index)
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        hidden = self._hidden_from(start, end)
        cut = max(0, index - start - 2 * _MORE)
        begin, end = start + cut, min(end, index + _MORE)
        shown = self.text[begin:end].rstrip("\r\n\x85\u2028\u2029")
        open_ = max(0, hidden - begin)
        return Place(self.file, line, index - start + 1, shown[:open_] + "•" * len(shown[open_:]), cut)

    def _hidden_from(self, start: int, end: int) -> int:
        if start not in self._secrets:
            match = _SECRET.search(self.text, start, end)
            self._secrets[start] = match.end() if match else end
        return self._secrets[start]


def read_source(path: Path, shown: str) -> SourceText | Fault:
    """The file's text, or the fault that makes it unreadable as text; a file that is not there is a wrong command."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(
            f"there is no definition file '{shown}'", "name one with -f FILE, or start one with: chronicle init"
        ) from None
    except IsADirectoryError:
        raise UsageError(
            f"'{shown}' is a directory, not a definition file", f"try: -f {shown}/chronicle.yaml"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read '{shown}': {reason}", "check its path and permissions") from None
    return decode_source(raw, shown)


def decode_source(raw: bytes, shown: str) -> SourceText | Fault:
    if len(raw) > MAX_BYTES:
        return Fault(
            "CH004",
            f"the file is larger than {MAX_BYTES // 1024 // 1024} MB",
            "the size of a definition is bounded, so that checking it always ends soon",
            "split it into several files, each given with -f",
            Place(shown, 1, 1),
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = SourceText.of(shown, raw[: error.start].decode("utf-8-sig", "replace"))
        return Fault(
            "CH002",
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            "a definition is UTF-8 text",
            "save the file as UTF-8",
            before.place(len(before.text)),
        )
    source = SourceText.of(shown, text)
    if match := _NOT_TEXT.search(text):
        return Fault(
            "CH002",
            f"the control character U+{ord(match[0]):04X} stands here",
            "YAML text has no control characters except tab and line breaks",
            'remove it, or write it as an escape inside double quotes, such as "\\x07"',
            source.place(match.start()),
        )
    return source
