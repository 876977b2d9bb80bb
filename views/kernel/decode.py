"""A range of messages to appends: in bulk where a header or the group's only chronicle says what a message is, and one
by one where it does not, or where the bulk parser is not sure. Each message is parsed once, for all views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chronicle.appends import Group
from chronicle.appends.decode import CHRONICLE_FIELD
from chronicle.appends.topics import TopicDecoder
from chronicle.journal import Record, records
from views.kernel.bulk import Parsed, Shape, parse, timestamps, unsure
from views.kernel.decoded import AT, GONE, NO_CHRONON, PLACE, SINCE, Decoded, Int64s
from views.kernel.one_by_one import decode_one_by_one
from views.plan import OwnTopic

_OP, _FROM = "_op", "_from"


def decode_range(group: Group, decoder: TopicDecoder, messages: pa.Table, own: OwnTopic | None = None) -> Decoded:
    """Decodes messages as `Journal.read_arrow` gives them; `decoder` is the exact one of their topic, and `own` says
    whose topic it is where a relation has it to itself."""
    count = messages.num_rows
    taken_at = messages.column("timestamp").to_numpy()
    chronons = np.full(count, NO_CHRONON, dtype=np.int64)
    tuples: dict[str, list[pa.Table]] = {}
    changes: dict[str, list[pa.Table]] = {}
    left: list[npt.NDArray[np.int64]] = []
    bodies = _flat(messages.column("value"))
    for name, places in _by_name(group, own, messages):
        if name is None or _has_field_as_column(group, name):
            left.append(places)
            continue
        chosen = bodies if len(places) == count else bodies.take(pa.array(places))
        parsed = [_decided(group, name, each) for each in parse(shape_of(group, name), chosen)]
        left.append(places[unsure(parsed, len(places))])
        for each in parsed:
            at = places[each.places]
            if name in group.chronicles:
                tuples.setdefault(name, []).append(_tuples(group, name, each, at, taken_at, chronons))
            else:
                changes.setdefault(name, []).append(_changes(group, name, each, at, taken_at))
    rest = _rest(group, decoder, messages, left)
    for table, more in ((tuples, rest.tuples), (changes, rest.changes)):
        for name, rows in more.items():
            table.setdefault(name, []).append(rows)
    return Decoded(
        np.where(rest.chronons == NO_CHRONON, chronons, rest.chronons),
        rest.malformed,
        {name: pa.concat_tables(parts) for name, parts in tuples.items()},
        {name: pa.concat_tables(parts) for name, parts in changes.items()},
    )


def _rest(group: Group, decoder: TopicDecoder, messages: pa.Table, left: Sequence[npt.NDArray[np.int64]]) -> Decoded:
    places = np.sort(np.concatenate(left)) if left else np.empty(0, np.int64)
    chosen = messages if len(places) == messages.num_rows else messages.take(pa.array(places))
    numbered: Iterator[tuple[int, Record]] = zip(places.tolist(), records(chosen), strict=True)
    return decode_one_by_one(group, decoder, numbered, messages.num_rows)


def _by_name(
    group: Group, own: OwnTopic | None, messages: pa.Table
) -> Iterator[tuple[str | None, npt.NDArray[np.int64]]]:
    """The messages by the chronicle or relation that they certainly are of; None: look at each."""
    if own is not None and own.debezium:
        yield None, np.arange(messages.num_rows)
        return
    only = next(iter(group.chronicles)) if len(group.chronicles) == 1 else None
    numbers, names = _header_names(group, messages.column("headers"), only if own is None else own.relation)
    for number in np.unique(numbers).tolist():
        name = names[number] if own is None or names[number] == own.relation else None
        yield name, np.flatnonzero(numbers == number)


def _header_names(
    group: Group, headers: pa.ChunkedArray, only: str | None
) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    """A number for each message, and the name that stands for it: distinct headers are few and looked at once."""
    names: list[str | None] = [only]
    parts: list[npt.NDArray[np.int64]] = []
    for chunk in headers.chunks:
        first = len(names)
        for pairs in chunk.dictionary.to_pylist():
            names.append(_named(group, [(pair["key"], pair["value"]) for pair in pairs], only))
        indices = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        parts.append(np.where(indices < 0, 0, indices + first))
    return np.concatenate(parts) if parts else np.empty(0, np.int64), names


def _named(group: Group, headers: list[tuple[str, bytes | None]], only: str | None) -> str | None:
    keys = {key.lower() for key, _ in headers}
    if keys & {"ce_type", "ce-type", "content-type"}:
        return None
    stated = [value for key, value in headers if key == "chronicle"]
    if not stated:
        return only
    name = (stated[0] or b"").decode(errors="replace")
    return name if len(stated) == 1 and (name in group.chronicles or name in group.relations) else None


def _has_field_as_column(group: Group, name: str) -> bool:
    """A field that says what the message is, and is data too: too rare to be quick about."""
    if name in group.chronicles:
        return CHRONICLE_FIELD in group.chronicles[name].schema
    return any(field in group.relations[name].schema for field in (CHRONICLE_FIELD, _OP, _FROM))


def shape_of(group: Group, name: str) -> Shape:
    if name in group.chronicles:
        chronicle = group.chronicles[name]
        return Shape(chronicle.schema.columns, (CHRONICLE_FIELD,), not chronicle.strict)
    return Shape(group.relations[name].schema.columns, (CHRONICLE_FIELD, _OP, _FROM), True)


def _decided(group: Group, name: str, parsed: Parsed) -> Parsed:
    """Only what is certainly a tuple or an upsert of this name stays sure."""
    sure = parsed.sure
    stated = parsed.table.column(CHRONICLE_FIELD)
    if stated.null_count < len(stated):
        sure = sure & pc.equal(stated, name).fill_null(True).to_numpy()
    if name in group.relations:
        op = parsed.table.column(_OP)
        if op.null_count < len(op):
            sure = sure & pc.equal(op, "upsert").fill_null(True).to_numpy()
        sure = sure & _good_from(_flat(parsed.table.column(_FROM)))
    return Parsed(parsed.places, parsed.table, sure)


def _good_from(stated: pa.Array) -> npt.NDArray[np.bool_]:
    absent: npt.NDArray[np.bool_] = stated.is_null().to_numpy(zero_copy_only=False)
    try:
        return absent | timestamps(stated)[1]
    except pa.ArrowInvalid:
        return absent


def _tuples(
    group: Group, name: str, parsed: Parsed, at: npt.NDArray[np.int64], taken_at: Int64s, chronons: Int64s
) -> pa.Table:
    """The tuples as a table; their chronons are noted in `chronons`."""
    chronicle = group.chronicles[name]
    kept, table = _sure(parsed, at)
    if chronicle.chronon is None:
        chronons[kept] = taken_at[kept]
    else:
        chronons[kept] = _flat(table.column(chronicle.chronon)).view(pa.int64()).to_numpy()
    beside = [pa.array(kept), pa.array(np.zeros(len(kept), np.int64))]
    columns = [table.column(column.name) for column in chronicle.schema.columns]
    return pa.table([*beside, *columns], names=[AT, PLACE, *chronicle.schema.names])


def _changes(group: Group, name: str, parsed: Parsed, at: npt.NDArray[np.int64], taken_at: Int64s) -> pa.Table:
    schema = group.relations[name].schema
    kept, table = _sure(parsed, at)
    since = taken_at[kept]
    if table.column(_FROM).null_count < len(kept):
        stated = _flat(table.column(_FROM))
        instants, _ = timestamps(stated)
        since = np.where(stated.is_null().to_numpy(zero_copy_only=False), since, _micros(instants))
    count = len(kept)
    beside = [kept, np.zeros(count, np.int64), since, np.zeros(count, np.bool_)]
    columns = [table.column(column.name) for column in schema.columns]
    return pa.table([*map(pa.array, beside), *columns], names=[AT, PLACE, SINCE, GONE, *schema.names])


def _sure(parsed: Parsed, at: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], pa.Table]:
    if parsed.sure.all():
        return at, parsed.table
    return at[parsed.sure], parsed.table.filter(pa.array(parsed.sure))


def _micros(instants: pa.Array) -> Int64s:
    return instants.fill_null(0).view(pa.int64()).to_numpy()  # type: ignore[no-any-return]  # pyarrow has no types


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
