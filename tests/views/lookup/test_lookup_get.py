"""Laws of a lookup: the right period by the clock, an instant or a label; exact values; and never a torn row."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from lookup_cases import Calls, project_in

from calendars import PeriodState, parse_instant
from chronicle.errors import ChronicleError, DefinitionError, NotFoundError, UsageError
from views.lookup import NotYetError, PeriodExpiredError, UnknownViewError, connect


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(project_in(tmp_path))


def test_a_row_has_key_period_values_and_as_of(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z", seconds=4120, amount=3140).commit()
    row = calls.lookups()["usage"].get(caller="c1")
    assert row is not None
    assert row["spend"] == Decimal("31.40")
    assert row.key == {"caller": "c1"}
    json = row.to_json()
    assert json.pop("as_of").keys() == {"clock", "offsets", "age_ms"}
    assert json == {
        "view": "usage",
        "key": {"caller": "c1"},
        "period": {
            "label": "2026-03",
            "start": "2026-03-01T00:00:00Z",
            "end": "2026-04-01T00:00:00Z",
            "state": "open",
        },
        "values": {
            "calls": 1, "seconds": 4120, "spend": "31.40", "minutes": "68.7", "discount": "6.28", "due": "25.12",
        },
    }  # fmt: skip
    assert row.as_of.clock == parse_instant("2026-03-17T10:00:00Z")
    assert row.as_of.offsets == {"journal": {"0": 1}}


def test_a_view_without_a_period_has_one_row_a_key(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").call("c1", "2026-05-17T10:00:00Z").commit()
    row = calls.lookups()["totals"].get(caller="c1")
    assert row is not None
    assert row.period is None
    assert row.values == {"calls": 2, "seconds": 120}
    assert calls.lookups()["everyone"].get()["calls"] == 2


def test_without_an_instant_the_answer_is_for_the_groups_clock(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z", 1).call("c1", "2026-04-02T00:00:00Z", 2).commit()
    usage = calls.lookups()["usage"]
    assert usage.get(caller="c1")["seconds"] == 2
    assert usage.get(caller="c1", at="2026-03-31T23:59:59Z")["seconds"] == 1
    assert usage.get(caller="c1", at=datetime(2026, 3, 1, tzinfo=UTC))["seconds"] == 1
    assert usage.get(caller="c1", period="2026-03")["seconds"] == 1
    assert usage.get(caller="c1", period="2026-05") is None
    assert usage.get(caller="c9") is None
    assert [row["seconds"] for row in usage.history(caller="c1")] == [1, 2]
    assert usage.history(caller="c9") == []


def test_a_period_goes_from_open_through_grace_to_closed_and_expired(calls: Calls) -> None:
    calls.call("c1", "2026-01-17T10:00:00Z").commit()
    usage = calls.lookups()["usage"]
    seen = []
    for clock in ("2026-01-31T23:59:59Z", "2026-02-02T23:59:59Z", "2026-02-03T00:00:00Z", "2026-04-30T23:00:00Z"):
        calls.call("other", clock).commit()
        seen.append(usage.get(caller="c1", period="2026-01").period.state)
    assert seen == [PeriodState.OPEN, PeriodState.GRACE, PeriodState.CLOSED, PeriodState.CLOSED]
    calls.call("other", "2026-05-01T00:00:00Z").commit()
    with pytest.raises(PeriodExpiredError, match="the period 2026-01 of view usage is expired"):
        usage.get(caller="c1", period="2026-01")
    assert usage.history(caller="c1") == []
    assert "2026-01" not in {row.period.label for row in usage.scan()}


def test_overlapping_periods_are_merged_from_panes_and_the_nearly_complete_one_answers(calls: Calls) -> None:
    for day, seconds in ((1, 1), (2, 10), (3, 100), (5, 1000)):
        calls.call("c1", f"2026-03-0{day}T12:00:00Z", seconds)
    calls.commit()
    moving = calls.lookups()["moving"]
    row = moving.get(caller="c1")
    assert (row.period.label, row["seconds"]) == ("2026-03-03/P3D", 1100)
    assert moving.get(caller="c1", period="2026-03-01/P3D")["seconds"] == 111
    assert moving.get(caller="c1", at="2026-03-02T00:00:00Z").period.label == "2026-02-28/P3D"
    expected = {"2026-02-27": 1, "2026-02-28": 11, "2026-03-01": 111, "2026-03-02": 110, "2026-03-03": 1100,
                "2026-03-04": 1000, "2026-03-05": 1000}  # fmt: skip
    assert {row.period.label[:10]: row["seconds"] for row in moving.history(caller="c1")} == expected
    assert {row.period.label[:10]: row["seconds"] for row in moving.scan()} == expected


def test_a_keyed_calendar_gives_every_key_its_own_periods(calls: Calls) -> None:
    calls.customer("a", "2026-01-10T00:00:00Z", "UTC").customer("b", "2026-01-20T00:00:00-05:00", "America/New_York")
    for caller in ("a", "b", "nobody"):
        calls.call(caller, "2026-03-15T12:00:00Z").call(caller, "2026-03-25T12:00:00Z")
    calls.commit()
    cycles = calls.lookups()["cycles"]
    assert (cycles.get(caller="a").period.label, cycles.get(caller="a")["calls"]) == ("2026-03-10", 2)
    assert [(row.period.label, row["calls"]) for row in cycles.history(caller="b")] == [
        ("2026-02-20", 1),
        ("2026-03-20", 1),
    ]
    assert cycles.get(caller="nobody") is None
    assert [(row.key["caller"], row.period.label) for row in cycles.scan()] == [
        ("b", "2026-02-20"),
        ("a", "2026-03-10"),
        ("b", "2026-03-20"),
    ]
    assert [row.key["caller"] for row in cycles.scan(period="2026-03-10")] == ["a"]


def test_a_scan_gives_every_row_in_order_of_period_and_key_from_all_shards(calls: Calls) -> None:
    for month in ("02", "01"):
        for number in range(12):
            calls.call(f"c{number:02d}", f"2026-{month}-17T10:00:00Z", number)
    calls.commit()
    rows = [(row.period.label, row.key["caller"], row["seconds"]) for row in calls.lookups()["usage"].scan()]
    assert rows == [(f"2026-{m}", f"c{n:02d}", n) for m in ("01", "02") for n in range(12)]
    usage = calls.lookups()["usage"]
    assert [row.key["caller"] for row in usage.scan(period="2026-02", limit=2)] == ["c00", "c01"]
    assert len(list(usage.scan(prefix={"caller": "c03"}))) == 2


def test_after_a_token_the_row_reflects_the_append_or_the_lookup_says_not_yet(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    usage = calls.lookups()["usage"]
    assert usage.get(caller="c1", after="journal:0")["calls"] == 1
    with pytest.raises(NotYetError, match="the append journal:1 is not in the views yet"):
        usage.get(caller="c1", after="journal:1", wait=0.01)
    with pytest.raises(UsageError, match="is not of this group"):
        usage.get(caller="c1", after="calls-0:1")
    with pytest.raises(UsageError, match="is not a token"):
        usage.get(caller="c1", after="soon")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ({}, "the key of view usage needs caller"),
        ({"calller": "c1"}, r"view usage has no key column 'calller'; did you mean 'caller'\?"),
        ({"caller": "c1", "seconds": 1}, "view usage has no key column 'seconds'"),
        ({"caller": 5}, "caller = 5 is no string"),
    ],
)
def test_a_wrong_key_is_a_usage_error_that_names_the_column(calls: Calls, key: dict, said: str) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    with pytest.raises(UsageError, match=said):
        calls.lookups()["usage"].get(key)


@pytest.mark.parametrize(
    ("view", "options", "said"),
    [
        ("usage", {"period": "2026-13"}, "there is no period '2026-13'"),
        ("usage", {"at": "2026-03-01T00:00:00"}, "has no offset"),
        ("usage", {"at": "2026-03-01T00:00:00Z", "period": "2026-03"}, "not both"),
        ("totals", {"period": "2026-03"}, "view totals has no periods"),
    ],
)
def test_a_wrong_period_is_a_usage_error(calls: Calls, view: str, options: dict, said: str) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    with pytest.raises(UsageError, match=said):
        calls.lookups()[view].get(caller="c1", **options)


def test_an_unknown_view_is_named_with_the_nearest(calls: Calls) -> None:
    with pytest.raises(UnknownViewError, match="there is no view 'usag'; did you mean 'usage'"):
        calls.lookups()["usag"]
    assert "usag" not in calls.lookups()
    assert list(calls.lookups()) == ["totals", "usage", "moving", "cycles", "everyone"]


def test_before_there_is_a_state_the_lookup_says_what_to_run(tmp_path: Path) -> None:
    views = connect(project_in(tmp_path))
    with pytest.raises(NotFoundError, match="there is no state at"):
        views["usage"]


def test_a_state_that_appears_later_or_is_replaced_is_noticed(tmp_path: Path) -> None:
    import shutil

    project = project_in(tmp_path)
    views = connect(project)
    with pytest.raises(NotFoundError):
        views["totals"]
    Calls(project).call("c1", "2026-03-17T10:00:00Z").commit()
    assert views["totals"].get(caller="c1")["calls"] == 1
    views.state.close()
    shutil.rmtree(project.state_dir)
    Calls(project).call("c1", "2026-03-17T10:00:00Z").call("c1", "2026-03-18T10:00:00Z").commit()
    views._looked = 0.0
    assert views["totals"].get(caller="c1")["calls"] == 2


def test_a_view_that_changed_its_meaning_is_refused_and_a_new_one_waits_for_the_job(
    calls: Calls, tmp_path: Path
) -> None:
    text = (tmp_path / "chronicle.yaml").read_text()
    changed = text.replace("select: {calls: count(*), seconds: sum(seconds)}}", "select: {calls: sum(seconds)}}", 1)
    views = connect(project_in(tmp_path, changed + "  fresh: {from: calls, select: {n: count(*)}}\n"))
    with pytest.raises(ChronicleError, match="no longer means what the state"):
        views["totals"]
    with pytest.raises(NotFoundError, match="view fresh is not in the state yet"):
        views["fresh"]


def test_a_refused_view_cannot_be_looked_up_and_the_others_can(calls: Calls, tmp_path: Path) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    text = (tmp_path / "chronicle.yaml").read_text()
    bad = text + "  bad: {sql: 'SELECT caller, median(seconds) AS m FROM calls GROUP BY caller'}\n"
    views = connect(project_in(tmp_path, bad))
    with pytest.raises(DefinitionError):
        views["bad"]
    assert views["totals"].get(caller="c1")["calls"] == 1


def test_keys_of_every_type_are_taken_as_values_and_as_text() -> None:
    from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, Column, decimal
    from views.lookup.keys import KeyReader

    types = {"s": STRING, "i": INT64, "d": DOUBLE, "b": BOOL, "t": TIMESTAMP, "y": DATE, "m": decimal(9, 2)}
    reader = KeyReader("v", tuple(Column(name, kind, True) for name, kind in types.items()))
    instant = parse_instant("2026-03-01T00:00:00Z")
    values = {"s": "x", "i": 5, "d": 1.5, "b": True, "t": instant, "y": date(2026, 3, 1), "m": Decimal("1.50")}
    text = {"s": "x", "i": "5", "d": "1.5", "b": "true", "t": "2026-03-01T00:00:00Z", "y": "2026-03-01", "m": "1.5"}
    assert reader.read(values) == reader.read(text) == reader.read(values | {"t": datetime(2026, 3, 1, tzinfo=UTC)})
    assert reader.read(text)[1] == values
    nothing = dict.fromkeys(types)
    assert reader.read(nothing)[1] == nothing
    numbers = [{"i": "5.5"}, {"m": "1.555"}, {"m": "x"}, {"m": "1_0"}, {"m": "\u0661"}, {"m": " 1"}, {"d": "nan"}]
    for wrong in (*numbers, {"b": "yes"}, {"t": "2026-03-01"}, {"y": "March"}, {"y": "20260301"}):
        with pytest.raises(UsageError, match=r"is no|has no offset"):
            reader.read(values | wrong)


@pytest.mark.parametrize("at", [date(2026, 3, 1), 1.5, True, datetime(2026, 3, 1), 1 << 80, "2026-03-01"])
def test_what_is_no_instant_is_refused_and_never_taken_for_now(calls: Calls, at: object) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    with pytest.raises(UsageError, match=r"is no instant|has no zone|offset"):
        calls.lookups()["usage"].get(caller="c1", at=at)


def test_a_token_of_a_partition_that_the_job_has_not_met_is_not_yet(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z").commit()
    with pytest.raises(NotYetError):
        calls.lookups()["usage"].get(caller="c1", after="journal-1:0")


@pytest.mark.slow
def test_a_fork_of_a_process_that_has_the_state_open_is_told_so_and_harms_nobody(calls: Calls) -> None:
    calls.call("c1", "2026-03-17T10:00:00Z", seconds=42).commit()
    usage = calls.lookups()["usage"]
    before = usage.get(caller="c1")
    child = os.fork()
    if child == 0:
        try:
            usage.get(caller="c1")
        except ChronicleError as error:
            os._exit(0 if "before this process was forked" in error.message else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    calls.call("c2", "2026-03-17T10:00:00Z").commit()
    assert usage.get(caller="c1") == before
