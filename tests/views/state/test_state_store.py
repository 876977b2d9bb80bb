"""Laws of a whole state: one writer, a plan never changes, ids are given once, other formats are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from state_cases import CUSTOMERS, MONTHLY, TOTALS, VIEWS, columns_of, keys_of, outcome, prepare

from chronicle.errors import ChronicleError, NotFoundError
from views.state import EpochPlan, Slot, SlotPlan, State, StateInUseError, holder_of, read_meta, writer_lock


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    with writer_lock(tmp_path):
        code = (
            "import sys; from pathlib import Path; from views.state import writer_lock\n"
            "with writer_lock(Path(sys.argv[1])): pass"
        )
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert f"is being written by process {os.getpid()}" in done.stderr
        with pytest.raises(StateInUseError) as refused, writer_lock(tmp_path):
            pass
        assert refused.value.pid == os.getpid()
        assert holder_of(tmp_path) == os.getpid()
    assert holder_of(tmp_path) is None
    with writer_lock(tmp_path):
        pass


def test_a_plan_is_durable_kept_with_its_predecessor_and_never_changes(tmp_path: Path) -> None:
    log = prepare(tmp_path).epochs
    assert log.latest() is None
    plans = [EpochPlan(n, (SlotPlan(0, n, n + 1, n, None),), {"idle": [n]}) for n in range(1, 5)]
    for plan in plans:
        log.write(plan)
        log.write(plan)
    assert log.plans() == tuple(plans[-2:])
    assert log.latest() == plans[-1]
    assert log.plan(3) == plans[2]
    with pytest.raises(ChronicleError, match="epoch 4 cannot be planned after epoch 4"):
        log.write(replace(plans[-1], extra={}))
    with pytest.raises(ChronicleError, match="epoch 6 cannot be planned after epoch 4"):
        log.write(replace(plans[-1], epoch=6))


def test_a_state_that_is_prepared_again_is_the_same_state(tmp_path: Path) -> None:
    first = prepare(tmp_path, shards=3)
    again = prepare(tmp_path, shards=5)
    assert again.meta == first.meta
    assert again.shards == 3
    assert State.open(tmp_path, VIEWS, [CUSTOMERS]).registry == first.registry


def test_a_new_view_gets_a_new_id_and_says_since_when(tmp_path: Path) -> None:
    state = State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics={"journal": 1})
    state.shard(0).write(1, outcome(7, 10), lambda s: s.merge(["totals"], keys_of(["a"]), columns_of([1])))
    wider = State.prepare(tmp_path, "telecom", [MONTHLY], [CUSTOMERS], shards=1, tzdata="x", topics={"journal": 1})
    assert {name: r.id for name, r in wider.meta.views.items()} == {"monthly": 2}
    assert wider.meta.relations["customers"].id == 3
    assert wider.meta.views["monthly"].since == {"0": 7}
    assert "totals" not in wider.registry.views


def test_a_view_that_comes_back_begins_anew_because_it_has_missed_appends(tmp_path: Path) -> None:
    topics = {"journal": 1}
    state = State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics=topics)
    state.shard(0).write(1, outcome(7, 10), lambda s: s.merge(["totals"], keys_of(["a"]), columns_of([1])))
    State.prepare(tmp_path, "telecom", [], [], shards=1, tzdata="x", topics=topics)
    again = State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics=topics)
    assert (again.meta.views["totals"].id, again.meta.views["totals"].since) == (2, {"0": 7})


def test_rows_without_their_meta_are_not_taken_for_a_new_state(tmp_path: Path) -> None:
    state = State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics={"journal": 1})
    (tmp_path / "meta.json").unlink()
    State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics={"journal": 1})  # nothing in it yet
    state.shard(0).write(1, outcome(7, 10), lambda s: s.merge(["totals"], keys_of(["a"]), columns_of([1])))
    (tmp_path / "meta.json").unlink()
    with pytest.raises(ChronicleError, match=r"has rows, and its meta\.json is gone"):
        State.prepare(tmp_path, "telecom", [TOTALS], [], shards=1, tzdata="x", topics={"journal": 1})


def test_a_view_that_means_something_else_now_is_refused(tmp_path: Path) -> None:
    prepare(tmp_path)
    with pytest.raises(ChronicleError, match=r"the view totals no longer means what the state at .* holds"):
        State.prepare(tmp_path, "telecom", [replace(TOTALS, fingerprint="t2")], [], shards=1, tzdata="x", topics={})
    with pytest.raises(ChronicleError, match="belongs to the group telecom, not to bank"):
        State.prepare(tmp_path, "bank", [], [], shards=1, tzdata="x", topics={})


def test_slots_keep_their_numbers_when_partitions_are_added(tmp_path: Path) -> None:
    for topics in ({"calls": 1}, {"calls": 2, "payments": 1}, {"payments": 2}):
        state = State.prepare(tmp_path, "telecom", [], [], shards=1, tzdata="x", topics=topics)
    expected = (Slot("calls", 0), Slot("calls", 1), Slot("payments", 0), Slot("payments", 1))
    assert state.meta.slots == expected


def test_a_newer_format_and_a_damaged_or_missing_state_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no state at"):
        State.open(tmp_path)
    prepare(tmp_path)
    meta = tmp_path / "meta.json"
    content = orjson.loads(meta.read_bytes())
    meta.write_bytes(orjson.dumps(content | {"format": 2}))
    with pytest.raises(ChronicleError, match="has format 2, this version reads up to 1"):
        read_meta(tmp_path)
    meta.write_bytes(b"{")
    with pytest.raises(ChronicleError, match="is damaged"):
        read_meta(tmp_path)


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    prepare(tmp_path)
    meta = tmp_path / "meta.json"
    meta.write_bytes(orjson.dumps(orjson.loads(meta.read_bytes()) | {"shards": 2}))
    with pytest.raises(NotFoundError, match=r"there is no shard at .*01"):
        State.open(tmp_path).shard(1)
