"""Lines of files become the bodies of appends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.appends.cells import cell_of
from chronicle.appends.lines import CsvHeaderError, Line, csv_lines, json_lines
from chronicle.types import BOOL, DOUBLE, INT64, STRING, Column, Schema, decimal

SCHEMA = Schema((Column("name", STRING), Column("n", INT64), Column("note", STRING, nullable=True)))


def lines_of(path: Path, blob: bytes, schema: Schema | None = None, strict: bool = False) -> list[Line]:
    path.write_bytes(blob)
    file = os.open(path, os.O_RDONLY)
    try:
        groups = json_lines(file) if schema is None else csv_lines(file, schema, {}, strict)
        return [line for group in groups for line in group]
    finally:
        os.close(file)


def test_json_lines_keep_their_numbers_and_skip_blank_ones(tmp_path: Path) -> None:
    blob = b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"a":2}\n{"a":3}'
    assert lines_of(tmp_path / "f", blob) == [Line(1, b'{"a":1}'), Line(4, b'{"a":2}'), Line(5, b'{"a":3}')]


@settings(max_examples=25)
@given(st.lists(st.binary(max_size=8).filter(lambda line: line.strip() == line and b"\n" not in line)))
def test_every_line_comes_once_however_the_pipe_cuts_it(lines: list[bytes]) -> None:
    out, into = os.pipe()
    found: list[Line] = []
    os.write(into, b"\n".join([b"first", *lines]))
    os.close(into)
    for group in json_lines(out):
        found += group
    os.close(out)
    assert found == [Line(at, line) for at, line in enumerate([b"first", *lines], 1) if line]


def test_csv_rows_become_objects_with_the_types_of_their_columns(tmp_path: Path) -> None:
    blob = 'note,n,name\r\n,07,é\r\n"two\nlines",x,"a ""b"""\r\n\r\nq, 3 ,\r\n'.encode()
    lines = lines_of(tmp_path / "f", blob, SCHEMA)
    assert [line.number for line in lines] == [2, 3, 6]
    assert [json.loads(line.value) for line in lines] == [
        {"note": None, "n": 7, "name": "é"},
        {"note": "two\nlines", "n": "x", "name": 'a "b"'},
        {"note": "q", "n": 3, "name": ""},
    ]


def test_a_ragged_or_broken_row_is_a_bad_line_and_the_next_is_read(tmp_path: Path) -> None:
    lines = lines_of(tmp_path / "f", b'name,n\na,1,2\n"a"b,1\nok,1\n', SCHEMA)
    assert [(line.number, line.fault) for line in lines] == [
        (2, "3 cells, but the header has 2"),
        (3, "not CSV: ',' expected after '\"'"),
        (4, None),
    ]
    assert json.loads(lines[0].value) == "a,1,2"


@pytest.mark.parametrize(
    ("header", "what"), [("name", "lacks n"), ("name,n,n", "names twice n"), ("name,n,x", "has undeclared columns x")]
)
def test_a_header_that_does_not_fit_is_refused_before_anything_is_taken(tmp_path: Path, header: str, what: str) -> None:
    with pytest.raises(CsvHeaderError, match=what):
        lines_of(tmp_path / "f", f"{header}\na,1\n".encode(), SCHEMA, strict=True)


def test_undeclared_csv_columns_are_ignored(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "f", b"name,n,x\na,1,2\n", SCHEMA) == [Line(2, b'{"name":"a","n":1}')]


def test_bytes_that_are_not_utf8_stay_as_they_are(tmp_path: Path) -> None:
    assert lines_of(tmp_path / "f", b"name,n\n\xff,1\n", SCHEMA) == [Line(2, b'{"name":"\xff","n":1}')]


@pytest.mark.parametrize(
    ("column", "text", "written"),
    [
        (Column("c", DOUBLE), "+.5", "0.5"),
        (Column("c", DOUBLE), "1e999", '"1e999"'),
        (Column("c", DOUBLE), "nan", '"nan"'),
        (Column("c", BOOL), "True", "true"),
        (Column("c", BOOL), "1", '"1"'),
        (Column("c", INT64), "", '""'),
        (Column("c", INT64, nullable=True), "", "null"),
        (Column("c", decimal(6, 2)), " 1.50", '"1.50"'),
    ],
)
def test_cells_are_written_as_json_of_their_type(column: Column, text: str, written: str) -> None:
    assert cell_of(column)(text) == written
