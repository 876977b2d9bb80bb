"""The work that every contender does: calls of about 110 bytes, four views, and a digest of the answers."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable
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
FILES = 4
"""Each file is one micro-batch of whoever works in micro-batches; a quarter of two million is our default."""

Answer = tuple[str, tuple[object, ...], object, object, object]
"""View, key, calls, seconds, longest."""


def make(directory: Path, calls: int, files: int = FILES) -> None:
    """Writes the calls into files of JSON lines, in the order of their instants, and the definition of the views."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "chronicle.yaml").write_text(definition())
    draw = random.Random(11).random
    start, each = datetime(2025, 1, 1, tzinfo=UTC), calls // files  # fifty million seconds on, it is still the past
    for number in range(files):
        with (directory / f"calls-{number:03d}.jsonl").open("w") as file:
            for index in range(number * each, (number + 1) * each):
                at = start + timedelta(seconds=index)
                file.write(
                    f'{{"caller":"c{int(KEYS * draw()):06}","callee":"c{int(KEYS * draw()):06}",'
                    f'"seconds":{1 + int(3600 * draw())},"kind":"{KINDS[int(4 * draw())]}",'
                    f'"at":"{at:%Y-%m-%dT%H:%M:%SZ}"}}\n'
                )


def definition(source: str = "") -> str:
    """The four views as a definition file; `source` is further lines of it."""
    views = "".join(
        f"  {name}:\n    from: calls\n    group_by: [{', '.join(keys)}]\n"
        "    select: {calls: count(*), seconds: sum(seconds), longest: max(seconds)}\n"
        for name, keys in VIEWS.items()
    )
    return (
        f"chronicle: 1\nname: bench\n{source}chronicles:\n  calls:\n"
        "    columns: {caller: string, callee: string, seconds: int64, kind: string, at: timestamp}\n"
        f"    chronon: at\nviews:\n{views}"
    )


def digest(answers: Iterable[Answer]) -> str:
    """Equal for equal sets of rows, in whatever order they come."""
    total = 0
    for answer in answers:
        total += int.from_bytes(hashlib.blake2b(repr(answer).encode(), digest_size=8).digest(), "big")
    return f"{total & (1 << 64) - 1:016x}"


def report(seconds: float, warm: float | None, answers: Callable[[], Iterable[Answer]]) -> None:
    """Prints the contender's line; the answers are only computed where they are asked for."""
    shown = digest(answers()) if "--answers" in sys.argv else None
    print(json.dumps({"seconds": seconds, "warm": warm, "digest": shown}))
