"""A token names one append: `journal:812`, or `calls-3:812` for offset 812 of partition 3 of a Kafka topic."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chronicle.errors import UsageError

_JOURNAL = re.compile(r"journal:([0-9]{1,19})")
_KAFKA = re.compile(r"(.+)-([0-9]{1,9}):([0-9]{1,19})")


@dataclass(frozen=True, slots=True)
class Token:
    """`topic` is None for the journal."""

    topic: str | None
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"journal:{self.offset}" if self.topic is None else f"{self.topic}-{self.partition}:{self.offset}"


def journal_token(offset: int) -> Token:
    return Token(None, 0, offset)


def parse_token(text: str) -> Token:
    if match := _JOURNAL.fullmatch(text):
        return journal_token(int(match[1]))
    if match := _KAFKA.fullmatch(text):
        return Token(match[1], int(match[2]), int(match[3]))
    raise UsageError(f"'{text}' is not a token", "a token is what an append printed, like journal:812 or calls-0:812")
