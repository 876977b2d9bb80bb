"""The exact way to decode: message by message, with a reason for each that is malformed.

It takes what the bulk decoder leaves: envelopes, events, deletes, rare forms of values, and everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from chronicle.appends import Group, Malformed
from chronicle.appends.topics import TopicDecoder
from chronicle.journal import Record
from chronicle.types import Value
from views.kernel.decoded import AT, GONE, NO_CHRONON, PLACE, SINCE, Decoded, table_of

Row = dict[str, Value]


def decode_one_by_one(
    group: Group, decoder: TopicDecoder, records: Iterable[tuple[int, Record]], count: int
) -> Decoded:
    """Decodes the given records, each with its place in a range of `count`."""
    chronons = np.full(count, NO_CHRONON, dtype=np.int64)
    malformed: dict[int, str] = {}
    tuples: dict[str, tuple[list[int], list[int], list[Row]]] = {}
    changes: dict[str, tuple[list[int], list[int], list[int], list[bool], list[Row]]] = {}
    for at, record in records:
        try:
            append = decoder.decode(record.value, record.headers, record.timestamp)
        except Malformed as error:
            malformed[at] = error.reason
            continue
        if append.chronon is not None:
            chronons[at] = append.chronon
        for name, rows in append.tuples.items():
            ats, places, kept = tuples.setdefault(name, ([], [], []))
            ats += [at] * len(rows)
            places += range(len(rows))
            kept += rows
        for place, change in enumerate(append.changes):
            ats, places, since, gone, kept = changes.setdefault(change.relation, ([], [], [], [], []))
            ats.append(at)
            places.append(place)
            since.append(change.valid_from)
            gone.append(change.op == "delete")
            kept.append(change.row)
    return Decoded(
        chronons,
        malformed,
        {
            name: table_of(
                group.chronicles[name].schema.columns,
                rows,
                **{AT: pa.array(ats, pa.int64()), PLACE: pa.array(places, pa.int64())},
            )
            for name, (ats, places, rows) in tuples.items()
        },
        {
            name: table_of(
                group.relations[name].schema.columns,
                rows,
                **{
                    AT: pa.array(ats, pa.int64()),
                    PLACE: pa.array(places, pa.int64()),
                    SINCE: pa.array(since, pa.int64()),
                    GONE: pa.array(gone, pa.bool_()),
                },
            )
            for name, (ats, places, since, gone, rows) in changes.items()
        },
    )
