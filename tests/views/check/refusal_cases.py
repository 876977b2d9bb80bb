"""The sections of docs/refusals.md, and the chronicle group that they and the other tests are about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from chronicle.definitions import load_text
from views.check import Verdict, check

DOCUMENT = Path(__file__).parents[3] / "docs" / "refusals.md"


@dataclass(frozen=True, slots=True)
class Documented:
    """One section of docs/refusals.md."""

    code: str
    why: str
    example: str
    what: str
    fix: str


def _blocks(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)


GROUP = _blocks(DOCUMENT.read_text(encoding="utf-8").split("\n## ")[0])[0]


def documented() -> list[Documented]:
    found = []
    for section in DOCUMENT.read_text(encoding="utf-8").split("\n## ")[1:]:
        example, fix = _blocks(section)
        code, why = section[:5], section.split("\n\n")[1]
        what = re.search(r"^> (.*)$", section, flags=re.MULTILINE)
        assert what is not None
        found.append(Documented(code, why, example, what[1], fix.rstrip("\n")))
    return found


def expected(file: Path) -> dict[str, str]:
    """What the comment beside each view of a file says."""
    views = file.read_text(encoding="utf-8").split("views:\n")[1]
    return dict(re.findall(r"^  (\w+):.*?# (.*)$", views, flags=re.MULTILINE))


def verdict_of(views: str, group: str = GROUP) -> Verdict:
    return check(load_text(f"{group}\n{views}"))


def paste(fix: str, *, group: str = GROUP) -> Verdict:
    """The verdict after the fix has taken the place of all views."""
    return verdict_of(f"views:\n{indent(fix, '  ')}\n", group)
