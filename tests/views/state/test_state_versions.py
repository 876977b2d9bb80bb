"""Laws of the version index: every version of a key is found by its key alone, and the later append wins a tie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from state_cases import encode, outcome, prepare

from views.state import ShardTransaction, Standing, State, Tally, shard_of

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


def test_a_copy_in_memory_answers_like_the_shards(tmp_path: Path) -> None:
    state = prepare(tmp_path, shards=3)
    long = "n" * 2_000
    _put(state, 1, [("a", -5, 1, False, "gold"), ("b", 0, 2, False, None), ("a", 7, 3, True, None)])
    _put(state, 2, [("a", 7, 4, False, "tin"), (long, 3, 5, False, None), (long + "x", 3, 6, False, "tin")])
    held, keys = state.held_versions(["customers"]), [encode([name]) for name in ("b", "none", long, "a")]
    assert _same(held.versions("customers", keys), state.versions("customers", keys))
    assert _same(pa.concat_tables(held.scan_versions("customers")), pa.concat_tables(state.scan_versions("customers")))
    replaced = [keys[3], keys[3], keys[0]], [7, -5, 0]
    assert _same(held.superseded("customers", *replaced), state.superseded("customers", *replaced))
    assert held.superseded("customers", *replaced).column("@deleted").to_pylist() == [True]


def _same(one: pa.Table, other: pa.Table) -> bool:
    order = [("number", "ascending"), ("@from", "ascending")]
    (mine, its) = (table.drop_columns(["@index"]).sort_by(order) for table in (one, other))
    return bool(mine.equals(its))


def test_versions_are_the_same_as_long_as_no_epoch_has_changed_one(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    assert state.versions_changed_at() == (0,)
    _put(state, 1, [("a", 5, 9, False, "gold")])
    _put(state, 2, [])
    assert state.versions_changed_at() == (1,)
    _put(state, 3, [("a", 5, 12, False, "tin")])
    assert state.versions_changed_at() == (3,)


def test_a_shard_that_was_filled_anew_may_have_other_versions(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    _put(state, 1, [("a", 5, 9, False, "gold")])
    assert state.shard(0).replace(Standing(4, 0, {}), Tally(), lambda shard: None)
    assert state.versions_changed_at() == (4,)


def test_what_versions_take_is_known_without_reading_them(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    assert state.version_bytes == 0
    _put(state, 1, [(f"c{number}", 5, number, False, "gold" * 10) for number in range(1_000)])
    assert 50_000 < state.version_bytes < 500_000
