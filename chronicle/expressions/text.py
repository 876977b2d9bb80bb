"""Text in Python as docs/expressions.md pins it: counted in code points, its case changed one code point at a time."""

from __future__ import annotations

import re
from functools import cache


def substring(value: str, start: int, length: int | None = None) -> str:
    """Counts from 1 (0 is taken as 1); a negative start counts from the end, and may lie before the beginning."""
    begin = start - 1 if start > 0 else 0 if start == 0 else len(value) + start
    end = len(value) if length is None else begin + max(length, 0)
    return value[max(begin, 0) : max(end, 0)]


def to_lower(value: str) -> str:
    return value.lower() if value.isascii() else value.translate(_case_table(upper=False))


def to_upper(value: str) -> str:
    return value.upper() if value.isascii() else value.translate(_case_table(upper=True))


@cache
def case_pairs(*, upper: bool) -> tuple[str, str]:
    """The characters that change, and the one character that each becomes (the simple mapping of Unicode)."""
    changed = [
        (character, other)
        for character in map(chr, range(0x110000))
        if (other := _upper(character) if upper else _lower(character)) != character
    ]
    return "".join(before for before, _ in changed), "".join(after for _, after in changed)


def _upper(character: str) -> str:
    """Python gives some letters several capitals; of these the title case may be one character (ᾀ, ᾈ)."""
    if character == "ß":
        return "ẞ"
    return next((other for other in (character.upper(), character.title()) if len(other) == 1), character)


def _lower(character: str) -> str:
    return character.lower()[0]


@cache
def _case_table(*, upper: bool) -> dict[int, int]:
    return str.maketrans(*case_pairs(upper=upper))


def like_to_regex(pattern: str, escape: str | None) -> str:
    return "".join(_like_part(token) for token in like_tokens(pattern, escape))


def like_tokens(pattern: str, escape: str | None) -> list[str]:
    """The pattern's characters, an escaped one together with its escape; ValueError where an escape escapes nothing."""
    tokens, characters = [], iter(pattern)
    for character in characters:
        if character != escape:
            tokens.append(character)
            continue
        following = next(characters, "")
        if following not in ("%", "_", escape):
            raise ValueError(f"after the escape '{escape}' comes %, _ or the escape itself")
        tokens.append(escape + following)
    return tokens


def _like_part(token: str) -> str:
    if len(token) == 1 and token in "%_":
        return ".*" if token == "%" else "."
    return re.escape(token[-1])
