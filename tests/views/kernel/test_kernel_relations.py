"""The versions that a range joins are the reference's, whether the state holds them or the range itself brings them."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from version_cases import COLUMNS, Change, index_of, instants, version_rows

from chronicle.types import STRING
from views.kernel.relations import FOREVER, Versions, in_force_table
from views.plan.steps import RANK, VALID_FROM, VALID_TO
from views.reference.versions import Moment, Relation

NOW = Moment(10_000, 0, 0)
NAMES = [column.name for column in COLUMNS]


def _relation(changes: list[Change]) -> Relation:
    relation = Relation(("number",), corrects=False)
    for order, (since, row, deleted) in enumerate(changes):
        relation.change(since, Moment(order, 0, 0), row, deleted=deleted)
    return relation


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    micros = [pa.field(each.name, pa.int64()) if pa.types.is_timestamp(each.type) else each for each in table.schema]
    return table.cast(pa.schema(micros)).to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def _all(versions: Versions) -> list[tuple[Any, ...]]:
    rows = _plain(versions.table)
    return [
        (row["number"], row["@from"], until, None if row["@deleted"] else {name: row[name] for name in NAMES})
        for row, until in zip(rows, versions.until.tolist(), strict=True)
    ]


def _expected(relation: Relation, keys: list[str]) -> list[tuple[Any, ...]]:
    found = []
    for key in sorted(set(keys)):
        versions = relation.versions((key,), NOW)
        ends = [*(version.valid_from for version in versions[1:]), FOREVER]
        found += [(key, each.valid_from, end, each.row) for each, end in zip(versions, ends, strict=bool(versions))]
    return found


@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 32), count=st.sampled_from([0, 1, 5, 30]), shards=st.integers(1, 3), held=st.booleans())
def test_versions_of_keys_are_the_references_wherever_they_lie(seed: int, count: int, shards: int, held: bool) -> None:
    draw = random.Random(seed)
    changes = version_rows(draw, count)
    keys = draw.sample(["c1", "c2", "c3", "unknown"], draw.randint(1, 4))
    relation = _relation(changes)
    with TemporaryDirectory() as directory:
        index = index_of(Path(directory), changes, draw.randint(0, count), shards, held=held)
        found = index.versions_of("customers", [STRING], pa.table({"number": keys}))
        assert _all(found) == _expected(relation, keys)
        assert _all(index.all_versions("customers")) == _expected(relation, ["c1", "c2", "c3"])


@settings(max_examples=40)
@given(seed=st.integers(0, 1 << 32), count=st.sampled_from([0, 1, 5, 30]), ranked=st.booleans())
def test_just_one_row_is_in_force_at_an_instant_and_it_is_the_references(seed: int, count: int, ranked: bool) -> None:
    draw = random.Random(seed)
    changes = version_rows(draw, count)
    relation = _relation(changes)
    chronons = sorted([*instants(draw, 8), *(draw.choice(changes)[0] for _ in range(min(count, 4)))])
    with TemporaryDirectory() as directory:
        index = index_of(Path(directory), changes, draw.randint(0, count), 1)
        versions = index.all_versions("customers")
        table = in_force_table(versions, (chronons[0], chronons[-1]), {"@key0": "number"}, ranked=ranked)
    rows = _plain(table)
    for chronon in chronons:
        for key in ("c1", "c2", "c3"):
            there = [r for r in rows if r["@key0"] == key and r[VALID_FROM] <= chronon < r[VALID_TO]]
            assert [{n: r[n] for n in NAMES} for r in there] == [
                row for row in [relation.in_force((key,), chronon, NOW)] if row
            ]
    if ranked:
        ranks = {row["number"]: row[RANK] for row in rows}
        assert all(row[RANK] == ranks[row["number"]] for row in rows)
        assert sorted(ranks, key=lambda key: ranks[key]) == sorted(ranks)


@pytest.mark.parametrize("between", [(0, 4), (12, 20)])
def test_versions_in_force_at_no_instant_of_the_range_are_not_joined(tmp_path: Path, between: tuple[int, int]) -> None:
    row = {"number": "c1", "state": "NJ", "plan": None, "zone": None, "since": None}
    index = index_of(tmp_path, [(5, row, False), (12, row, True)], 1, 1)
    assert in_force_table(index.all_versions("customers"), between, {}, ranked=False).num_rows == 0
