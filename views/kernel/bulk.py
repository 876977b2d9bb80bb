"""Many messages of one shape at once: what is written alike without a parser, the rest with Arrow's JSON parser over
all bodies laid end to end, one a line.

It must never answer otherwise than `chronicle.appends` does: whatever it cannot be sure of, it leaves to the exact
decoder (`Parsed.sure` is false there). A body begins with `{`, ends with `}` and has no line break, and there are as
many objects as bodies; so each body is exactly one object, for a nested one cannot be followed by `{`. Where the parser
gives up, the bodies are halved until the culprits are few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from chronicle.arrow import arrow_type
from chronicle.types import Column, Kind
from views.kernel.alike import taken_alike

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

_AT_ONCE = 1 << 15
"""Bodies that are looked at together: some megabytes, which stay near the processor."""

_TOGETHER, _FEW = 1 << 12, 64
"""Bodies that the parser is given together, and how many are not worth its while. One bad body costs no more than the
halves of so many."""

_SPACE = 0x20
_BLOCK = 4 << 20
_DEEPEST = 16
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a message: the columns of a chronicle or relation, and further texts (`_chronicle`, `_from`).

    `others` says whether fields that are not declared may be there.
    """

    columns: tuple[Column, ...]
    texts: tuple[str, ...]
    others: bool


@dataclass(frozen=True, slots=True)
class Parsed:
    """The messages at `places`: the columns and texts of those that are sure."""

    places: Int64s
    table: pa.Table
    sure: Bools


def parse(shape: Shape, bodies: pa.BinaryArray) -> Iterator[Parsed]:
    """What can be parsed in bulk; messages in no result, and those that are not sure, are for the exact decoder."""
    left = np.ones(len(bodies), np.bool_)
    for first in range(0, len(bodies), _AT_ONCE):
        block = bodies[first : first + _AT_ONCE]
        plain, clean = _plain(block)
        left[first : first + len(block)] = plain
        for places, table in taken_alike(shape.columns, shape.texts, shape.others, block, clean):
            left[first + places] = False
            yield Parsed(first + places, table, np.ones(len(places), np.bool_))
    rest = np.flatnonzero(left)
    for first in range(0, len(rest), _TOGETHER):
        places = rest[first : first + _TOGETHER]
        yield from _halving(shape, bodies.take(pa.array(places)), places)


def _halving(shape: Shape, bodies: pa.BinaryArray, places: Int64s) -> Iterator[Parsed]:
    if len(bodies) < _FEW:
        return
    table = _attempt(shape, bodies)
    if table is not None:
        yield Parsed(places, *table)
        return
    if half := len(bodies) // 2:
        yield from _halving(shape, bodies[:half], places[:half])
        yield from _halving(shape, bodies[half:], places[half:])


def _plain(bodies: pa.BinaryArray) -> tuple[Bools, Bools]:
    """Bodies that look like one JSON object on one line, without escapes by number (half pairs are malformed); and of
    these those that have no escapes at all."""
    ends = np.frombuffer(bodies.buffers()[1], np.int32)[bodies.offset : bodies.offset + len(bodies) + 1]
    data = np.frombuffer(bodies.buffers()[2] or b"\0", np.uint8)
    begin, end = ends[:-1], ends[1:]
    plain: Bools = (end - begin >= 2) & _valid(bodies)
    safe_begin, safe_last = np.where(plain, begin, 0), np.where(plain, end - 1, 0)
    plain &= (data[safe_begin] == ord("{")) & (data[safe_last] == ord("}"))
    whole = data[int(ends[0]) : int(ends[-1])]
    if whole.min(initial=_SPACE) < _SPACE:
        plain[_rows_with(whole < _SPACE, ends)] = False
    clean, escapes = plain, whole == ord("\\")
    if escapes.any():
        clean = plain.copy()
        clean[_rows_with(escapes, ends)] = False
        plain &= ~pc.match_substring(bodies, b"\\u").fill_null(True).to_numpy(zero_copy_only=False)
    return plain, clean


def _rows_with(found: Bools, ends: npt.NDArray[np.int32]) -> Int64s:
    """The bodies in which something was found, byte by byte."""
    rows: Int64s = np.searchsorted(ends, np.flatnonzero(found) + ends[0], side="right") - 1
    return rows


def _valid(bodies: pa.BinaryArray) -> Bools:
    """Whether each is there, and UTF-8."""
    try:
        bodies.cast(pa.string())
    except pa.ArrowInvalid:
        return np.fromiter((_is_utf8(body) for body in bodies.to_pylist()), np.bool_, len(bodies))
    valid: Bools = bodies.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _is_utf8(body: bytes | None) -> bool:
    try:
        return body is not None and body.decode() is not None
    except UnicodeDecodeError:
        return False


def _attempt(shape: Shape, bodies: pa.BinaryArray) -> tuple[pa.Table, Bools] | None:
    """All of these bodies, or None where the parser refuses one."""
    lines = pc.binary_join_element_wise(bodies, pa.scalar(b"", pa.binary()), pa.scalar(b"\n", pa.binary()))
    data = lines.buffers()[2]
    for as_text, others in _ways(shape):
        try:
            table = pj.read_json(
                pa.BufferReader(data),
                read_options=pj.ReadOptions(block_size=_BLOCK, use_threads=False),
                parse_options=pj.ParseOptions(
                    explicit_schema=_json_schema(shape, as_text),
                    unexpected_field_behavior="infer" if others else "error",
                    newlines_in_values=False,
                ),
            )
            if table.num_rows != len(bodies):
                return None
            return _checked(shape, table.combine_chunks(), bodies, as_text, others)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return None


def _ways(shape: Shape) -> list[tuple[bool, bool]]:
    """Decimals as texts (the quicker to check) or as numbers too; without other fields first."""
    forms = [True, False] if any(c.type.kind is Kind.DECIMAL for c in shape.columns) else [True]
    return [(as_text, others) for others in ((False, True) if shape.others else (False,)) for as_text in forms]


def _json_schema(shape: Shape, as_text: bool) -> pa.Schema:
    fields = []
    for column in shape.columns:
        text = column.type.kind in (Kind.TIMESTAMP, Kind.DATE) or (as_text and column.type.kind is Kind.DECIMAL)
        fields.append(pa.field(column.name, pa.string() if text else arrow_type(column.type)))
    return pa.schema([*fields, *(pa.field(name, pa.string()) for name in shape.texts)])


def _checked(
    shape: Shape, table: pa.Table, bodies: pa.BinaryArray, as_text: bool, others: bool
) -> tuple[pa.Table, Bools]:
    sure = np.ones(len(bodies), dtype=np.bool_)
    something = np.zeros(len(bodies), dtype=np.bool_)
    arrays = []
    for column in shape.columns:
        raw = _flat(table, column.name)
        there = raw.is_valid().to_numpy(zero_copy_only=False) if raw.null_count else np.ones(len(raw), np.bool_)
        something |= there
        if not column.nullable:
            sure &= there
        match column.type.kind:
            case Kind.DECIMAL:
                good = _good_decimal_text(raw, column) if as_text else _good_decimal_number(bodies, column, others)
                sure &= good | ~there
                array = _cast(raw, arrow_type(column.type), good & there) if as_text else raw
            case Kind.TIMESTAMP:
                array, good = timestamps(raw)
                sure &= good | ~there
            case Kind.DATE:
                array = raw.cast(pa.date32())
                days = array.fill_null(0).view(pa.int32()).to_numpy()
                sure &= (days >= _FIRST_DAY) & (days <= _LAST_DAY)
            case Kind.DOUBLE:
                numbers = raw.fill_null(0.0).to_numpy() + 0.0  # one zero: -0.0 and 0.0 are the same key
                sure &= np.isfinite(numbers)
                array = pa.array(numbers, mask=~there)
            case _:
                array = raw
        arrays.append(array)
    sure &= something
    if others:
        sure &= _nothing_strange(shape, table, bodies)
    texts = [_flat(table, name) for name in shape.texts]
    for name, text in zip(shape.texts, texts, strict=True):
        sure &= _stated_or_absent(name, text, bodies)
    arrays += texts
    return pa.table(arrays, names=[*(c.name for c in shape.columns), *shape.texts]), sure


def _stated_or_absent(name: str, texts: pa.Array, bodies: pa.BinaryArray) -> Bools:
    """A null of these fields may be refused, and looks like none."""
    quoted = pc.match_substring(bodies, f'"{name}"'.encode())
    found: Bools = pc.or_(texts.is_valid(), pc.invert(quoted)).to_numpy(zero_copy_only=False)
    return found


def _nothing_strange(shape: Shape, table: pa.Table, bodies: pa.BinaryArray) -> Bools:
    """What undeclared fields may hide: events, depths, and numbers that the parser takes although JSON has no such."""
    strange = pc.match_substring_regex(bodies, rb"NaN|Inf")
    for opening in (b"[", b"{"):
        strange = pc.or_(strange, pc.greater(pc.count_substring(bodies, opening), _DEEPEST))
    if "specversion" in table.column_names and "specversion" not in (c.name for c in shape.columns):
        strange = pc.or_(strange, _flat(table, "specversion").is_valid())
    plain: Bools = ~strange.to_numpy(zero_copy_only=False)
    return plain


def _flat(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _cast(texts: pa.Array, to: pa.DataType, good: Bools) -> pa.Array:
    return (texts if good.all() else pc.if_else(pa.array(good), texts, pa.scalar(None, pa.string()))).cast(to)


def _good_decimal_text(texts: pa.Array, column: Column) -> Bools:
    """Digits, or digits and a point and 1 to `scale` digits; the rest of the grammar is rare."""
    lengths = pc.utf8_length(texts).fill_null(0).to_numpy()
    points = pc.find_substring(texts, ".").fill_null(-1).to_numpy()
    after = lengths - points - 1
    begins = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts)]
    data = np.frombuffer(texts.buffers()[2] or b"0", np.uint8)
    before = data[np.where(points > 0, begins + points - 1, 0)]
    pointed = (points > 0) & (after >= 1) & (after <= column.type.scale) & (before >= ord("0"))
    good: Bools = ((points < 0) | pointed) & (lengths <= column.type.precision)
    exponent = (data == ord("e")) | (data == ord("E"))
    if exponent.any():
        good &= ~pc.match_substring(texts, "e", ignore_case=True).fill_null(False).to_numpy(zero_copy_only=False)
    return good


def _good_decimal_number(bodies: pa.BinaryArray, column: Column, others: bool) -> Bools:
    """The field's number as it is written, for the parser does not say how many digits there were."""
    name, whole, scale = column.name.encode(), column.type.precision - column.type.scale, column.type.scale
    digits = rb"(\.[0-9]{1,%d})?" % scale if scale else b""
    pattern = rb'"%s" *: *"?-?[0-9]{1,%d}%s"? *[,}]' % (re.escape(name), max(whole, 1), digits)
    good = pc.match_substring_regex(bodies, pattern)
    if others:  # the name may be there again, within a field that is not declared
        good = pc.and_(good, pc.equal(pc.count_substring(bodies, b'"%s"' % name), 1))
    found: Bools = good.to_numpy(zero_copy_only=False)
    return found


def timestamps(texts: pa.Array) -> tuple[pa.Array, Bools]:
    """Instants of ISO 8601 texts, and which are beyond doubt; raises where Arrow cannot read one."""
    instants = texts.cast(pa.timestamp("us", "UTC"))
    micros = instants.fill_null(0).view(pa.int64()).to_numpy()
    begins = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts)]
    data = np.frombuffer(texts.buffers()[2] or b":", np.uint8)
    minutes = data[np.minimum(begins + 13, len(data) - 1)] == ord(":")  # hours alone are no time of the contract
    return instants, minutes & (micros >= _FIRST_DAY * _DAY) & (micros < (_LAST_DAY + 1) * _DAY)


def unsure(parsed: Sequence[Parsed], count: int) -> Int64s:
    """The places, of `count` messages, that are left to the exact decoder."""
    rest = np.ones(count, dtype=np.bool_)
    for each in parsed:
        rest[each.places] = ~each.sure
    return np.flatnonzero(rest)
