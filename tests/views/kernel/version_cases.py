"""Random versions of a relation's rows, and a state on disk that holds the first of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from chronicle.types import STRING, TIMESTAMP, Column
from views.kernel.decoded import AT, GONE, PLACE, SINCE, table_of
from views.kernel.relations import RelationIndex, Versions
from views.plan import RelationPlan
from views.state import Outcome, RelationLayout, ShardTransaction, SlotStanding, State, key_encoder, shard_of

COLUMNS = (
    Column("number", STRING),
    Column("state", STRING),
    Column("plan", STRING, nullable=True),
    Column("zone", STRING, nullable=True),
    Column("since", TIMESTAMP, nullable=True),
)
LAYOUT = RelationLayout("customers", COLUMNS, ("number",))
PLAN = RelationPlan(LAYOUT, "correct")
Change = tuple[int, dict[str, Any], bool]
"""Valid from, row, whether it is a delete."""

_HOUR = 3_600_000_000
_START = int(datetime(2026, 1, 30, 22, tzinfo=UTC).timestamp()) * 1_000_000


def instants(draw: random.Random, count: int) -> list[int]:
    """On and off the hour, from half a year before to half a year after the drawn group's start."""
    return [_START + draw.randint(-4000, 4000) * _HOUR + draw.choice([0, 0, -1, 1, 12_345]) for _ in range(count)]


def version_rows(draw: random.Random, count: int) -> list[Change]:
    """Changes in the order of their admission, some of one key and one instant."""
    moments = instants(draw, 5)
    return [
        (
            draw.choice(moments),
            {
                "number": draw.choice(["c1", "c2", "c3"]),
                "state": draw.choice(["NJ", "NY"]),
                "plan": draw.choice(["gold", None]),
                "zone": draw.choice(["America/New_York", "Asia/Kathmandu", "Nowhere/None", None]),
                "since": draw.choice([_START, _START - 1234 * _HOUR, None]),
            },
            not draw.randrange(5),
        )
        for _ in range(count)
    ]


def changes_table(changes: Sequence[Change]) -> pa.Table:
    """Changes as decoding gives them, the place of each in the range being its place here."""
    count = len(changes)
    return table_of(
        COLUMNS,
        [{"number": row["number"]} if gone else row for _, row, gone in changes],
        **{
            AT: pa.array(range(count), pa.int64()),
            PLACE: pa.array([0] * count, pa.int64()),
            SINCE: pa.array([since for since, _, _ in changes], pa.int64()),
            GONE: pa.array([gone for _, _, gone in changes], pa.bool_()),
        },
    )


def index_of(
    directory: Path, changes: Sequence[Change], stored: int, shards: int, *, held: bool = False
) -> RelationIndex:
    """The first `stored` changes lie in the state, or in a copy that is `held` in memory; the others are the range's
    own."""
    state = State.prepare(directory, "drawn", [], [LAYOUT], shards=shards, tzdata="2025b", topics={"journal": 1})
    encode = key_encoder([STRING])
    kept = changes_table(changes[:stored]).drop_columns([PLACE])
    keys = [encode([row["number"]]) for _, row, _ in changes[:stored]]
    for shard in range(shards):
        mine = [at for at, key in enumerate(keys) if shard_of(key, shards) == shard]
        rows = kept.take(pa.array(mine, pa.int64()))

        def work(transaction: ShardTransaction, mine: list[int] = mine, rows: pa.Table = rows) -> None:
            transaction.put_versions(
                "customers",
                [keys[at] for at in mine],
                rows.column(SINCE).to_numpy(),
                rows.column(AT).to_numpy(),
                rows.column(GONE).to_numpy(),
                rows,
            )

        state.shard(shard).write(1, Outcome({0: SlotStanding(stored, None)}, {0: {"applied": 1}}), work)
    own = {"customers": changes_table(changes[stored:])} if len(changes) > stored else {}
    sns = np.arange(stored, max(len(changes), stored + 1), dtype=np.int64)
    return RelationIndex(state.held_versions(["customers"]) if held else state, {"customers": PLAN}, own, sns)


def versions_of_all(changes: Sequence[Change]) -> Versions:
    """What the index says of all of them, half in the state and half the range's own."""
    with TemporaryDirectory() as directory:
        return index_of(Path(directory), changes, len(changes) // 2, 1).all_versions("customers")
