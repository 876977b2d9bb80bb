"""The work that every contender does: calls of about 110 bytes, four views, and a digest of the answers."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

KEYS = 100_000
KINDS = ("local", "national", "international", "internal")
VIEWS = {
    "by_caller": ("caller",),
    "by_callee": ("callee",),
    "by_caller_kind": ("caller", "kind"),
    "by_kind": ("kind",),
}
FILES = 10
"""Each file is one micro-batch of native Structured Streaming, and one epoch of ours."""

Answer = tuple[str, tuple[str, ...], int, int, int]
"""View, key, calls, seconds, longest."""


def make(directory: Path, calls: int) -> None:
    """Writes the calls into `FILES` files of JSON lines, in the order of their instants."""
    directory.mkdir(parents=True, exist_ok=True)
    chance = random.Random(11)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    each = calls // FILES
    for number in range(FILES):
        with (directory / f"calls-{number:03d}.jsonl").open("w") as file:
            for index in range(number * each, (number + 1) * each):
                at = start + timedelta(seconds=index)
                call = {
                    "caller": f"c{chance.randrange(KEYS):06d}",
                    "callee": f"c{chance.randrange(KEYS):06d}",
                    "seconds": chance.randint(1, 3600),
                    "kind": chance.choice(KINDS),
                    "at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                }
                file.write(json.dumps(call, separators=(",", ":")) + "\n")


def definition(journal: str) -> str:
    """The four views as a definition file."""
    views = "".join(
        f"  {name}:\n    from: calls\n    group_by: [{', '.join(keys)}]\n"
        "    select: {calls: count(*), seconds: sum(seconds), longest: max(seconds)}\n"
        for name, keys in VIEWS.items()
    )
    return (
        f"chronicle: 1\nname: bench\nsource: {{journal: {journal}}}\nchronicles:\n  calls:\n"
        "    columns: {caller: string, callee: string, seconds: int64, kind: string, at: timestamp}\n"
        f"    chronon: at\nviews:\n{views}"
    )


def digest(answers: Iterable[Answer]) -> str:
    """Equal for equal sets of rows, in whatever order they come."""
    total = 0
    for answer in answers:
        total += int.from_bytes(hashlib.blake2b(repr(answer).encode(), digest_size=8).digest(), "big")
    return f"{total & (1 << 64) - 1:016x}"


def report(seconds: float, warm: float, answers: Iterable[Answer]) -> None:
    print(json.dumps({"seconds": seconds, "warm": warm, "digest": digest(answers)}))
