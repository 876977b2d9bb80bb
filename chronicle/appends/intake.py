"""Validating lines by the definition and appending them: bad ones too, since their fate is for the ledger to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from chronicle.appends.body import Malformed
from chronicle.appends.decode import Decoder, Headers
from chronicle.appends.lines import Line
from chronicle.appends.target import AppendTarget
from chronicle.appends.tokens import Token


@dataclass(frozen=True, slots=True)
class BadLine:
    number: int
    reason: str


@dataclass(slots=True)
class Taken:
    """What became of the lines; without a token nothing was appended."""

    token: Token | None = None
    appended: int = 0
    bad: list[BadLine] = field(default_factory=list)


Report = Callable[[Sequence[Line], Sequence[BadLine]], None]
"""Told of each group of lines, and which of them are bad, as they are taken."""


def take(
    groups: Iterable[Sequence[Line]],
    name: str | None,
    decoder: Decoder,
    target: AppendTarget,
    report: Report = lambda lines, bad: None,
) -> Taken:
    """Appends every line as it comes."""
    taken = Taken()
    for lines in groups:
        bad = bad_lines(lines, name, decoder)
        taken.bad += bad
        if lines:
            taken.token = target.append(name, [line.value for line in lines])
            taken.appended += len(lines)
        report(lines, bad)
    return taken


def take_all_or_nothing(
    groups: Iterable[Sequence[Line]],
    name: str | None,
    decoder: Decoder,
    target: AppendTarget,
    report: Report = lambda lines, bad: None,
) -> Taken:
    """Appends all lines at once if none is bad, otherwise nothing."""
    taken = Taken()
    values: list[bytes] = []
    for lines in groups:
        bad = bad_lines(lines, name, decoder)
        taken.bad += bad
        values += [line.value for line in lines]
        report(lines, bad)
    if values and not taken.bad:
        taken.token = target.append(name, values)
        taken.appended = len(values)
    return taken


def bad_lines(lines: Sequence[Line], name: str | None, decoder: Decoder) -> list[BadLine]:
    headers: Headers = () if name is None else (("chronicle", name.encode()),)
    decode = decoder.decode
    bad: list[BadLine] = []
    for line in lines:
        if line.fault is not None:
            bad.append(BadLine(line.number, line.fault))
            continue
        try:
            decode(line.value, headers, 0)
        except Malformed as error:
            bad.append(BadLine(line.number, error.reason))
    return bad
