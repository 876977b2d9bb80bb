"""Markdown as tests need it: links, headings, and code blocks by section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """`section` is the last heading of the second level before it."""

    section: str
    language: str
    text: str


def links_in(markdown: str) -> list[str]:
    return _LINK.findall(_FENCE.sub("", markdown))


def anchors_in(markdown: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = _HEADING.findall(_FENCE.sub("", markdown))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks_in(markdown: str) -> Iterator[Block]:
    for found in _FENCE.finditer(markdown):
        before = re.findall(r"^## (.+)$", _FENCE.sub("", markdown[: found.start()]), re.MULTILINE)
        yield Block(before[-1] if before else "", found[1], found[2])
