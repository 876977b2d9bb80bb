"""Messages written alike: one producer writes every body with the same fields in the same order, so that only the
values differ. Then a body is literal texts with values between them, and whole columns of values are found by the
places of the quotes, with no parser at all.

Nothing here fails: a body that differs in any byte from what is expected is left over, and so is a value that is not
written in the commonest way. What is taken is certain: no backslash, no control character, UTF-8, and as many quotes as
in the pattern, so that each literal stands where it must and no value holds a quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chronicle.types import Column
from views.kernel.written import Places, Text, column_of

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

_PATTERNS = 4
"""How many ways of writing are looked for in one block."""

_PAIR = re.compile(rb'([{,] ?"([^"\\]*)": ?)(?:"([^"\\]*)"|([^",:{}\[\] ]+))')
_QUOTE = ord('"')


@dataclass(frozen=True, slots=True)
class _Pattern:
    """`literals[i]` stands before value i (with its opening quote, and the closing quote of the value before), the last
    one behind all. `ends[i]`: the number of the quote that value i ends at, or that the next name begins with, and how
    many bytes before it the value ends; None for a bare value at the end."""

    names: tuple[str, ...]
    quoted: tuple[bool, ...]
    literals: tuple[bytes, ...]
    ends: tuple[tuple[int, int] | None, ...]
    quotes: int


def taken_alike(
    columns: tuple[Column, ...], texts: tuple[str, ...], others: bool, bodies: pa.BinaryArray, plain: Bools
) -> Iterator[tuple[Int64s, pa.Table]]:
    """The places of bodies that are certain, and their columns and texts; a place is in one result at most.

    `plain` says which bodies are UTF-8 without control characters and backslashes.
    """
    left = np.flatnonzero(plain)
    text = Text.of(bodies)
    begins, ends = text.bounds[:-1], text.bounds[1:]
    quotes = _Quotes(np.flatnonzero(text.data == _QUOTE), text.bounds)
    for _ in range(_PATTERNS):
        if not len(left):
            return
        pattern = _pattern(bodies[int(left[0])].as_py(), columns, texts, others)
        if pattern is None:
            left = left[1:]
            continue
        rows, grid = quotes.of(left, pattern.quotes)
        good, arrays = _values(pattern, columns, texts, text, begins[rows], ends[rows], grid)
        table = pa.table(arrays, names=[*(column.name for column in columns), *texts])
        if not good.all():
            rows, table = rows[good], table.filter(pa.array(good))
        if len(rows):
            yield rows, table
        rest = np.zeros(len(bodies), np.bool_)
        rest[left[1:]] = True
        rest[rows] = False
        left = np.flatnonzero(rest)


class _Quotes:
    """The places of all quotes, by body."""

    def __init__(self, places: Int64s, bounds: Int64s) -> None:
        self._places = places
        self._bounds = bounds
        self._firsts: Int64s | None = None

    def of(self, rows: Int64s, each: int) -> tuple[Int64s, Int64s]:
        """Those of the rows that have just so many, and where they are."""
        count = len(self._bounds) - 1
        if len(rows) == count and len(self._places) == count * each:
            grid = self._places.reshape(count, each)
            if (grid[:, 0] >= self._bounds[:-1]).all() and (grid[:, -1] < self._bounds[1:]).all():
                return rows, grid
        if self._firsts is None:
            self._firsts = np.searchsorted(self._places, self._bounds)
        firsts = self._firsts[rows]
        right = self._firsts[rows + 1] - firsts == each
        return rows[right], self._places[firsts[right][:, None] + np.arange(each)]


def _pattern(sample: bytes, columns: tuple[Column, ...], texts: tuple[str, ...], others: bool) -> _Pattern | None:
    """How this body is written, if it can be one of many that are certain."""
    names: list[str] = []
    quoted: list[bool] = []
    literals: list[bytes] = []
    at = 0
    while match := _PAIR.match(sample, at):
        if (sample[at] == ord("{")) != (at == 0):
            return None
        names.append(match[2].decode())
        literals.append((b'"' if quoted and quoted[-1] else b"") + match[1] + (b'"' if match[4] is None else b""))
        quoted.append(match[4] is None)
        at = match.end()
    if sample[at:] != b"}" or not names or not _is_certain(names, quoted, columns, texts, others):
        return None
    literals.append(b'"}' if quoted[-1] else b"}")
    ends: list[tuple[int, int] | None] = []
    seen = 0
    for place, is_quoted in enumerate(quoted):
        seen += 2
        last = place == len(quoted) - 1
        if is_quoted:
            ends.append((seen + 1, 0))
            seen += 2
        else:
            ends.append(None if last else (seen, literals[place + 1].index(b'"')))
    return _Pattern(tuple(names), tuple(quoted), tuple(literals), tuple(ends), seen)


def _is_certain(
    names: list[str], quoted: list[bool], columns: tuple[Column, ...], texts: tuple[str, ...], others: bool
) -> bool:
    """Nothing is there twice, nothing is missing, and what is not declared is a plain text."""
    if len(set(names)) < len(names) or any(not c.nullable and c.name not in names for c in columns):
        return False
    declared = {column.name for column in columns}
    if "specversion" in names and "specversion" not in declared:
        return False
    if not any(name in declared for name in names):
        return False
    undeclared = [at for at, name in enumerate(names) if name not in declared and name not in texts]
    if undeclared and not others:
        return False
    return all(quoted[at] for at, name in enumerate(names) if name not in declared)


def _values(
    pattern: _Pattern,
    columns: tuple[Column, ...],
    texts: tuple[str, ...],
    text: Text,
    begins: Int64s,
    ends: Int64s,
    grid: Int64s,
) -> tuple[Bools, list[pa.Array]]:
    """Which of the bodies are as the pattern says and their values certain, and all columns and texts."""
    good = text.has(begins, pattern.literals[0])
    places: dict[str, Places] = {}
    start = begins + len(pattern.literals[0])
    for at, name in enumerate(pattern.names):
        until = pattern.ends[at]
        literal = pattern.literals[at + 1]
        end = ends - len(literal) if until is None else grid[:, until[0]] - until[1]
        good &= (end >= start) & text.has(end, literal)
        places[name] = Places(start, end, pattern.quoted[at])
        start = end + len(literal)
    good &= start == ends
    sound = {name: each.where(good) for name, each in places.items()} if not good.all() else places
    arrays = []
    for column in columns:
        array, right = column_of(column, sound.get(column.name), text, len(begins))
        good &= right
        arrays.append(array)
    for name in texts:
        arrays.append(text.taken(sound[name]) if name in sound else pa.nulls(len(begins), pa.string()))
    return good, arrays
