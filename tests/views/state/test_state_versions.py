"""Laws of the version index: every version of a key is found by its key alone, and the later append wins a tie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from state_cases import encode, outcome, prepare

from views.state import ShardTransaction, State, shard_of

Version = tuple[str, int, int, bool, str | None]


def _put(state: State, epoch: int, versions: list[Version]) -> None:
    for index in range(state.shards):
        mine = [v for v in versions if shard_of(encode([v[0]]), state.shards) == index]

        def work(shard: ShardTransaction, mine: list[Version] = mine) -> None:
            rows = pa.table({"number": [v[0] for v in mine], "plan": pa.array([v[4] for v in mine], pa.string())})
            shard.put_versions(
                "customers",
                [encode([v[0]]) for v in mine],
                np.array([v[1] for v in mine], dtype=np.int64),
                np.array([v[2] for v in mine], dtype=np.int64),
                np.array([v[3] for v in mine], dtype=np.bool_),
                rows,
            )

        state.shard(index).write(epoch, outcome(epoch, None), work)


def _found(state: State, names: list[str]) -> list[tuple]:
    table = state.versions("customers", [encode([name]) for name in names])
    picked = table.select(["@index", "@from", "@deleted", "plan"]).to_pylist()
    return sorted(tuple(row.values()) for row in picked)


def test_versions_of_many_keys_come_from_all_shards(tmp_path: Path) -> None:
    state = prepare(tmp_path, shards=3)
    _put(state, 1, [("a", -5, 1, False, "gold"), ("b", 0, 2, False, None), ("a", 7, 3, True, None)])
    _put(state, 2, [("ab", 1, 4, False, "tin")])
    assert _found(state, ["b", "none", "a"]) == [(0, 0, False, None), (2, -5, False, "gold"), (2, 7, True, None)]
    scanned = pa.concat_tables(state.scan_versions("customers"))
    assert sorted(zip(scanned["number"].to_pylist(), scanned["@from"].to_pylist(), strict=True)) == [
        ("a", -5), ("a", 7), ("ab", 1), ("b", 0),
    ]  # fmt: skip


def test_of_two_versions_from_one_instant_the_later_append_stays(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    _put(state, 1, [("a", 5, 9, False, "late"), ("a", 5, 3, False, "early")])
    assert _found(state, ["a"]) == [(0, 5, False, "late")]
    _put(state, 2, [("a", 5, 12, True, None)])
    assert _found(state, ["a"]) == [(0, 5, True, None)]


def test_a_key_too_long_for_the_store_is_found_all_the_same(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    long = "n" * 2_000
    _put(state, 1, [(long, 5, 9, False, "gold"), (long + "x", 6, 10, False, "tin")])
    assert _found(state, [long]) == [(0, 5, False, "gold")]


def test_no_versions_is_an_empty_table_of_the_relation(tmp_path: Path) -> None:
    assert prepare(tmp_path).versions("customers", []).schema.names == [
        "@index", "@from", "@sn", "@deleted", "number", "plan",
    ]  # fmt: skip
