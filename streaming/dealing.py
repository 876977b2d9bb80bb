"""Which task maps which parts of an epoch's ranges: a function of the plan, so that tasks work it out themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from views.kernel.map import SlotRange
from views.kernel.relay import ALONE, FileRelay, Relay

Part = tuple[SlotRange, Relay]


def dealt(
    ranges: Sequence[SlotRange], hands: int, least: int, directory: Path, epoch: int, *, divisible: bool
) -> list[list[Part]]:
    """The parts in so many hands at most, none much heavier than another: every further task would cost 30 ms.

    A range is cut where there are more hands than ranges, it has more than `least` appends for each, and it is
    `divisible`: no view joins a relation, so that all a part needs of those before it is their clock. It waits for
    them, in a hand of its own: there are no more of these than hands.
    """
    parts: list[Part] = []
    for whole in ranges:
        pieces = min(hands // len(ranges), 1 + (whole.end - whole.start) // (least + 1)) if divisible else 1
        if pieces > 1:
            parts += [(part, FileRelay(directory, epoch, whole.slot, at)) for at, part in enumerate(cut(whole, pieces))]
        else:
            parts.append((whole, ALONE))
    found: list[list[Part]] = [[] for _ in range(min(hands, len(parts)))]
    sizes = [0] * len(found)
    for part, relay in sorted(parts, key=lambda each: each[0].start - each[0].end):
        lightest = sizes.index(min(sizes))
        found[lightest].append((part, relay))
        sizes[lightest] += part.end - part.start
    return found


def cut(whole: SlotRange, pieces: int) -> list[SlotRange]:
    edges = [whole.start + (whole.end - whole.start) * part // pieces for part in range(pieces + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]
