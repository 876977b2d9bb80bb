"""The lines of a file or a pipe as the bodies of appends: JSON lines as they stand, CSV rows as JSON objects.

Lines come in groups of what there is to read, so that a slow pipe is appended as it trickles in and a long file in
large batches.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from chronicle.appends.cells import Cell, cell_of, quoted
from chronicle.errors import ChronicleError
from chronicle.types import Column, Schema

_CHUNK_BYTES = 2 << 20
_CSV_ROWS = 16_384
_LONGEST_CELL = 16 << 20
"""Characters; a quote that nobody closes must not make a cell of the whole file."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One append to be: `fault` says what is wrong where that cannot be seen from the value itself."""

    number: int
    value: bytes
    fault: str | None = None


def json_lines(file: int) -> Iterator[list[Line]]:
    """The lines that are not blank, with their numbers."""
    number = 0
    rest: list[bytes] = []
    while chunk := os.read(file, _CHUNK_BYTES):
        if not number and not rest:
            _refuse_compressed(chunk)
        *whole, tail = chunk.split(b"\n")
        if not whole:
            rest.append(tail)
            continue
        whole[0] = b"".join([*rest, whole[0]])
        rest = [tail]
        yield _numbered(whole, number)
        number += len(whole)
    yield _numbered([b"".join(rest)], number)


def _numbered(lines: list[bytes], before: int) -> list[Line]:
    if before == 0:
        lines[0] = lines[0].removeprefix(_BOM)
    return [Line(number, line) for number, line in enumerate(map(bytes.strip, lines), before + 1) if line]


class CompressedError(ChronicleError):
    """Lines that nobody can read as they are: each would be journalled as malformed, for ever."""


_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip -c"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
    b"\xfd7zXZ\x00": ("xz", "xz -dc"),
    b"BZh": ("bzip2", "bunzip2 -c"),
    b"PK\x03\x04": ("zip", "unzip -p"),
}


def _refuse_compressed(start: bytes) -> None:
    for mark, (form, command) in _COMPRESSED.items():
        if start.startswith(mark):
            raise CompressedError(
                f"the input is compressed ({form}), and nothing was appended",
                f"decompress it on the way: {command} FILE | chronicle append ...",
            )


class CsvHeaderError(ChronicleError):
    """The first row of a CSV file does not name the columns."""


def csv_lines(file: int, schema: Schema, extra: Mapping[str, Column], strict: bool = False) -> Iterator[list[Line]]:
    """The rows of a CSV file with a header. `extra` are fields that a row may have beside the schema's columns."""
    with os.fdopen(file, "rb", closefd=False) as raw:
        _refuse_compressed(raw.peek(8))
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = _rows(text)
        header = next(rows, None)
        if header is None:
            return
        cells = _cells([name.strip() for name in header.cells or ()], schema, extra, strict)
        while group := [_row_line(row, cells) for row in islice(rows, _CSV_ROWS)]:
            yield group


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    """of the line that it begins on"""
    text: str
    cells: list[str] | None
    fault: str | None = None


def _rows(text: Iterable[str]) -> Iterator[_Row]:
    """Rows that are not blank; one that is not CSV has a fault and no cells."""
    read: list[str] = []

    def remembered() -> Iterator[str]:
        for line in text:
            read.append(line)
            yield line

    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader(remembered(), strict=True)
    number = 1
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield _Row(number, "".join(read), None, f"not CSV: {error}")
        else:
            if cells:
                yield _Row(number, "".join(read), cells)
        number += len(read)
        read.clear()


def _cells(
    header: Sequence[str], schema: Schema, extra: Mapping[str, Column], strict: bool
) -> list[tuple[str, Cell] | None]:
    """For each position of a row the JSON name and how to write its cell; None where the column is not declared."""
    known = {**{column.name: column for column in schema.columns}, **extra}
    twice = sorted({name for name in header if header.count(name) > 1})
    missing = [column.name for column in schema.columns if not column.nullable and column.name not in header]
    unknown = [name for name in header if name not in known] if strict else []
    for problem, names in (("names twice", twice), ("lacks", missing), ("has undeclared columns", unknown)):
        if names:
            raise CsvHeaderError(
                f"the header of the CSV file {problem} {', '.join(names)}",
                f"its first row names the columns: {','.join(schema.names)}",
            )
    return [(f"{quoted(name)}:", cell_of(known[name])) if name in known else None for name in header]


def _row_line(row: _Row, cells: Sequence[tuple[str, Cell] | None]) -> Line:
    fault = row.fault
    if row.cells is not None and len(row.cells) != len(cells):
        fault = f"{len(row.cells)} cells, but the header has {len(cells)}"
    if row.cells is None or fault:
        return Line(row.number, _bytes(quoted(row.text.rstrip("\r\n"))), fault)  # a JSON string is never an append
    fields = [cell[0] + cell[1](text) for cell, text in zip(cells, row.cells, strict=True) if cell is not None]
    return Line(row.number, _bytes(f"{{{','.join(fields)}}}"))


def _bytes(text: str) -> bytes:
    """The bytes that were read, where they were not UTF-8 too: decoding then says so."""
    return text.encode("utf-8", "surrogateescape")
