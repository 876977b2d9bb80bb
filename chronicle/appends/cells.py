"""Plain text to JSON values: the cells of a CSV file, and `key=value` on the command line.

A text that is not of its column's type becomes a JSON string as it stands, so that decoding says what is wrong with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import assert_never

from chronicle.types import Column, Kind

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOLS = {"true": "true", "false": "false"}

Cell = Callable[[str], str]
"""From the text of a cell to the text of a JSON value."""


def cell_of(column: Column) -> Cell:
    """How the column's cells are written as JSON; an empty one is null where the column may be null."""
    write = _writer(column.type.kind)
    if not column.nullable:
        return write
    return lambda text: write(text) if text else "null"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _writer(kind: Kind) -> Cell:
    match kind:
        case Kind.STRING:
            return quoted
        case Kind.INT64:
            return _integer
        case Kind.DOUBLE:
            return _number
        case Kind.BOOL:
            return lambda text: _BOOLS.get(text.strip().lower()) or quoted(text)
        case Kind.TIMESTAMP | Kind.DATE | Kind.DECIMAL:
            return lambda text: quoted(text.strip())
        case _:
            assert_never(kind)


def _integer(text: str) -> str:
    written = text.strip()
    return str(int(written)) if _INTEGER.fullmatch(written) else quoted(text)


def _number(text: str) -> str:
    """JSON wants digits on both sides of the point, and neither a plus nor leading zeros."""
    written = text.strip()
    number = float(written) if _NUMBER.fullmatch(written) else math.inf
    return json.dumps(number) if math.isfinite(number) else quoted(text)
