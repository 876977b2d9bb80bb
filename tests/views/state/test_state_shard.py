"""Laws of a shard: an epoch is there whole and once, merging adds, and expiry deletes from the oldest, bounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_cases import CYCLES, TOTALS, columns_of, encode, keys_of, month, outcome, prepare, values_of

from chronicle.errors import ChronicleError
from views.state import PERIOD_END, Quarantined, ShardTransaction, State


def _count(names: list[str], seconds: list[int]):
    return lambda shard: shard.merge(["totals"], keys_of(names), columns_of(seconds))


def _totals(state: State, name: str) -> tuple[int, ...] | None:
    with state.shard(0).read() as snapshot:
        return values_of(TOTALS, snapshot.row("totals", encode([name])))


def test_an_epoch_is_applied_once(tmp_path: Path) -> None:
    shard = prepare(tmp_path).shard(0)
    assert shard.write(1, outcome(1, 10), _count(["a"], [5]))
    assert not shard.write(1, outcome(1, 10), _count(["a"], [5]))
    assert _totals(prepare(tmp_path), "a") == (1, 5)
    with shard.read() as snapshot:
        assert snapshot.tally().total()["applied"] == 1


def test_epochs_do_not_leave_gaps(tmp_path: Path) -> None:
    with pytest.raises(ChronicleError, match=r"stands at epoch 0 and cannot take epoch 2"):
        prepare(tmp_path).shard(0).write(2, outcome(1, 10), _count(["a"], [5]))


def test_nothing_of_an_epoch_that_fails_is_kept(tmp_path: Path) -> None:
    state = prepare(tmp_path)

    def work(shard: ShardTransaction) -> None:
        shard.merge(["totals"], keys_of(["a"]), columns_of([5]))
        raise RuntimeError("the kernel died")

    with pytest.raises(RuntimeError):
        state.shard(0).write(1, outcome(1, 10), work)
    assert _totals(state, "a") is None
    assert state.standings()[0].epoch == 0


@given(
    batches=st.lists(
        st.lists(
            st.tuples(st.sampled_from(["", "a", "b", "x" * 600, "x" * 599 + "y"]), st.integers(-9, 9)), max_size=6
        ),
        max_size=4,
    )
)
def test_rows_are_the_sums_of_what_was_merged_however_it_was_cut(tmp_path_factory, batches) -> None:
    state = prepare(tmp_path_factory.mktemp("state"))
    expected: dict[str, tuple[int, int]] = {}
    for epoch, batch in enumerate(batches, start=1):
        names, seconds = [name for name, _ in batch], [s for _, s in batch]
        state.shard(0).write(epoch, outcome(epoch, None), _count(names, seconds))
        for name, s in batch:
            calls, total = expected.get(name, (0, 0))
            expected[name] = (calls + 1, total + s)
    with state.shard(0).read() as snapshot:
        rows = {key: values_of(TOTALS, value) for _, key, value in snapshot.rows("totals")}
        assert rows == {encode([name]): values for name, values in expected.items()}
        assert snapshot.tally().rows.get(1, 0) == len(expected)
        for name, values in expected.items():
            assert values_of(TOTALS, snapshot.row("totals", encode([name]))) == values


def test_a_reader_keeps_its_moment_while_epochs_go_on(tmp_path: Path) -> None:
    shard = prepare(tmp_path).shard(0)
    shard.write(1, outcome(1, 10), _count(["a"], [5]))
    with shard.read() as before:
        shard.write(2, outcome(2, 20), _count(["a"], [7]))
        assert values_of(TOTALS, before.row("totals", encode(["a"]))) == (1, 5)
        assert before.standing().epoch == 1
    with shard.read() as after:
        assert values_of(TOTALS, after.row("totals", encode(["a"]))) == (2, 12)
        assert (after.standing().epoch, after.standing().clock) == (2, 20)


def test_a_map_that_is_full_grows_and_the_epoch_is_whole(tmp_path: Path) -> None:
    state = prepare(tmp_path, map_size=1 << 17)
    names = [f"caller-{n:06d}" for n in range(20_000)]
    state.shard(0).write(1, outcome(1, 10), _count(names, [1] * len(names)))
    with state.shard(0).read() as snapshot:
        assert snapshot.tally().rows == {1: len(names)}
        assert sum(1 for _ in snapshot.rows("totals")) == len(names)


def _month_by_month(state: State, starts: list[int]) -> None:
    def work(shard: ShardTransaction) -> None:
        names = [f"c{n}" for n in range(len(starts))]
        entries = [month(start) for start in sorted(set(starts))]
        shard.merge(["monthly"], keys_of(names), columns_of([1] * len(starts)), np.array(starts), entries)

    state.shard(0).write(1, outcome(1, 10), work)


def test_the_period_directory_counts_rows_and_remembers_boundaries(tmp_path: Path) -> None:
    state = prepare(tmp_path)
    _month_by_month(state, [0, 100, 100, -100])
    with state.shard(0).read() as snapshot:
        periods = snapshot.periods("monthly")
        assert [(p.start, p.end, p.label, p.rows) for p in periods] == [
            (-100, 0, "P-1", 1),
            (0, 100, "P0", 1),
            (100, 200, "P1", 2),
        ]
        assert (snapshot.first_start("monthly"), snapshot.last_start("monthly")) == (-100, 100)
        assert snapshot.first_start("cycles") is None


@given(limit=st.integers(1, 4), expired=st.integers(0, 3))
def test_expiry_is_bounded_and_finishes_in_later_epochs(tmp_path_factory, limit: int, expired: int) -> None:
    state = prepare(tmp_path_factory.mktemp("state"))
    _month_by_month(state, [0, 0, 0, 100, 100, 200])
    gone: list[int] = []
    for epoch in range(2, 9):
        state.shard(0).write(
            epoch,
            outcome(epoch, 10),
            lambda shard: gone.append(shard.expire("monthly", lambda start, end: end <= expired * 100, limit)),
        )
    assert max(gone) <= limit
    with state.shard(0).read() as snapshot:
        left = [start for start, _, _ in snapshot.rows("monthly")]
        assert left == [start for start in [0, 0, 0, 100, 100, 200] if start >= expired * 100]
        assert [p.rows for p in snapshot.periods("monthly")] == [3, 2, 1][expired:]
        assert snapshot.tally().rows[2] == len(left)


def test_keyed_periods_carry_their_own_end_and_expire_by_it(tmp_path: Path) -> None:
    state = prepare(tmp_path)

    def work(shard: ShardTransaction) -> None:
        columns = columns_of([1, 2, 3])
        columns[PERIOD_END] = np.array([50, 70, 170])
        shard.merge(["cycles"], keys_of(["a", "b", "b"]), columns, np.array([-50, -30, 70]))

    state.shard(0).write(1, outcome(1, 10), work)
    state.shard(0).write(2, outcome(2, 60), lambda shard: shard.expire("cycles", lambda start, end: end <= 60, 9))
    with state.shard(0).read() as snapshot:
        left = [(start, values_of(CYCLES, value)) for start, _, value in snapshot.rows("cycles")]
        assert left == [(-30, (1, 2)), (70, (1, 3))]


def test_the_quarantine_gives_the_latest_first_with_reason_and_body(tmp_path: Path) -> None:
    refused = [
        Quarantined(1 << 12, "malformed", "no JSON", b"{"),
        Quarantined(2 << 12, "late", "closed on", b"{}", "monthly"),
        Quarantined(2 << 12, "late", "closed on", b"{}", "totals"),
    ]
    shard = prepare(tmp_path).shard(0)
    shard.write(1, outcome(3, 10, {"malformed": 1, "late": 1, "applied": 1}), lambda s: s.quarantine(refused))
    with shard.read() as snapshot:
        assert {(q.sn, q.view) for q in snapshot.quarantine()} == {(q.sn, q.view) for q in refused}
        assert list(snapshot.quarantine("malformed")) == refused[:1]
        assert [q.sn for q in snapshot.quarantine(limit=2)] == [2 << 12, 2 << 12]
        assert snapshot.tally().total() == {
            "applied": 1, "duplicate": 0, "late": 1, "future": 0, "retroactive": 0, "malformed": 1,
        }  # fmt: skip
