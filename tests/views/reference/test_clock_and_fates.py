"""The contract on clocks and fates, with answers worked out by hand."""

from __future__ import annotations

from decimal import Decimal

from worked import by_start, column, fates, outcome, taken

from calendars import PeriodState, parse_instant

GROUP = """
chronicles:
  calls: {{columns: {{caller: string, n: int64, at: timestamp}}, chronon: at}}
relations:
  people: {{key: name, columns: {{name: string, plan: string}}, retroactive: {retroactive}}}
calendars: {{day: {{every: P1D}}, weekdays: {{every: P7D, length: P5D, anchor: "2026-03-02T00:00:00"}},
  moving: {{every: P1D, length: P2D}}}}
views:
  ever: {{from: calls, select: {{n: sum(n)}}}}
  timed: {{from: calls, select: {{n: sum(n)}}, period: {{{period}}}}}
  planned: {{from: calls, join: {{people: caller = name}}, group_by: people.plan, select: {{n: sum(n)}}}}
"""


def group(period: str = "calendar: day", retroactive: str = "reject") -> str:
    return GROUP.format(period=period, retroactive=retroactive)


def call(at: str, n: int, received: str | None = None, slot: int = 0) -> tuple[int, int, bytes | None]:
    body = {"_chronicle": "calls", "caller": "a", "n": n, "at": f"2026-{at}Z"}
    return taken(f"2026-{received or at}Z", body, slot=slot)


def plan(name: str, since: str | None, received: str, slot: int = 0) -> tuple[int, int, bytes | None]:
    stamp = {} if since is None else {"_from": f"2026-{since}Z"}
    return taken(f"2026-{received}Z", {"people": [{"name": "a", "plan": name, **stamp}]}, slot=slot)


def start(day: str) -> int:
    return parse_instant(f"2026-{day}T00:00:00Z")


def test_late_is_judged_by_the_clock_just_before_the_append() -> None:
    result = outcome(group(), call("03-02T00:00:00", 1), call("03-01T23:59:59", 10), call("03-02T12:00:00", 100))
    assert fates(result) == ["applied", "late", "applied"]
    assert by_start(result, "timed", "n") == {start("03-02"): 101}
    assert column(result, "ever", "n") == {(): 111}, "it still counts where the view has no period"
    assert list(result.refused_by.values()) == [["timed"]]


def test_an_append_is_in_time_until_the_clock_reaches_the_end_and_the_grace() -> None:
    period = "calendar: day, grace: PT2H"
    result = outcome(
        group(period), call("03-02T01:59:59", 1), call("03-01T10:00:00", 10), call("03-02T02:00:00", 1),
        call("03-01T10:00:00", 100),
    )  # fmt: skip
    assert fates(result) == ["applied", "applied", "applied", "late"]
    assert by_start(result, "timed", "n")[start("03-01")] == 10


def test_late_next_books_in_the_period_that_holds_the_clock_and_is_applied() -> None:
    result = outcome(group("calendar: day, late: next"), call("03-05T12:00:00", 1), call("03-01T10:00:00", 10))
    assert fates(result) == ["applied", "applied"]
    assert by_start(result, "timed", "n") == {start("03-05"): 11}


def test_late_next_is_refused_where_the_clock_stands_in_a_gap() -> None:
    messages = call("03-07T12:00:00", 1), call("02-23T10:00:00", 10)
    result = outcome(group("calendar: weekdays, late: next"), *messages)
    assert fates(result) == ["applied", "late"]
    assert by_start(result, "timed", "n") == {}, "Saturday is in no period"


def test_in_overlapping_periods_an_append_is_late_when_any_of_them_is_closed() -> None:
    messages = call("03-03T00:00:00", 1), call("03-02T10:00:00", 10), call("03-01T10:00:00", 100)
    result = outcome(group("calendar: moving"), *messages)
    assert fates(result) == ["applied", "late", "late"], "2 March is in [1, 3) too, which is closed"
    assert by_start(result, "timed", "n") == {start("03-02"): 1, start("03-03"): 1}


def test_a_chronon_too_far_ahead_is_future_and_does_not_move_the_clock() -> None:
    messages = (
        call("03-01T13:00:00", 1, received="03-01T12:00:00"),
        call("03-09T00:00:00", 10, received="03-01T12:30:00"),
        call("03-01T13:30:00.000001", 100, received="03-01T12:30:00"),
    )
    result = outcome(group(), *messages)
    assert fates(result) == ["applied", "future", "future"]
    assert result.clock == parse_instant("2026-03-01T13:00:00Z")
    assert column(result, "ever", "n") == {(): 1}


def test_a_period_is_open_in_grace_closed_and_expired_by_the_clock() -> None:
    days = [f"03-0{day}T12:00:00" for day in (1, 2, 3, 4, 5)]
    result = outcome(group("calendar: day, grace: P1D, expire_after: P2D"), *(call(day, 1) for day in days))
    states = {key.start: state for key, state in result.states["timed"].items()}
    assert states == {
        start("03-01"): PeriodState.EXPIRED,
        start("03-02"): PeriodState.EXPIRED,
        start("03-03"): PeriodState.CLOSED,
        start("03-04"): PeriodState.GRACE,
        start("03-05"): PeriodState.OPEN,
    }
    assert set(by_start(result, "timed", "n")) == {start("03-03"), start("03-04"), start("03-05")}


def test_a_period_closes_when_the_slowest_slot_has_reached_its_end() -> None:
    messages = call("03-01T12:00:00", 1), call("03-01T13:00:00", 1, slot=1), call("03-05T12:00:00", 1)
    result = outcome(group(), *messages)
    states = {key.start: state for key, state in result.states["timed"].items()}
    assert states[start("03-01")] is PeriodState.OPEN, "slot 1 may still have appends for it"
    result = outcome(group(), *messages, call("03-01T14:00:00", 1, slot=1))
    assert fates(result) == ["applied"] * 4, "each slot is judged by its own clock"


def test_a_slot_that_is_registered_later_starts_at_the_groups_clock() -> None:
    messages = call("03-05T12:00:00", 1), call("03-01T12:00:00", 10, slot=1)
    assert fates(outcome(group(), *messages, epochs=[1])) == ["applied", "late"]


def test_a_change_from_before_the_clock_is_retroactive_and_refused() -> None:
    messages = (
        plan("basic", "03-01T00:00:00", "03-01T00:00:00"),
        call("03-02T00:00:00", 1),
        plan("late", "03-02T00:00:00", "03-03T00:00:00"),
        plan("gold", "03-02T00:00:00.000001", "03-03T00:00:00"),
        call("03-02T00:00:01", 10),
    )
    result = outcome(group(), *messages)
    assert fates(result) == ["applied", "applied", "retroactive", "applied", "applied"]
    assert column(result, "planned", "n") == {"basic": 1, "gold": 10}


def test_clamp_lets_a_retroactive_change_hold_from_the_clock_on() -> None:
    messages = (
        plan("basic", "03-01T00:00:00", "03-01T00:00:00"),
        call("03-02T00:00:00", 1),
        plan("gold", "02-01T00:00:00", "03-03T00:00:00"),
        call("03-02T00:00:00", 10),
        call("03-02T00:00:00.000001", 100),
    )
    result = outcome(group(retroactive="clamp"), *messages)
    assert column(result, "planned", "n") == {"basic": 11, "gold": 100}


def test_correct_repairs_what_was_joined_before() -> None:
    messages = (
        plan("basic", "03-01T00:00:00", "03-01T00:00:00"),
        call("03-02T00:00:00", 1),
        plan("gold", "03-02T00:00:00", "03-03T00:00:00"),
    )
    result = outcome(group(retroactive="correct"), *messages)
    assert column(result, "planned", "n") == {"gold": 1}


def test_of_two_versions_from_one_instant_the_later_append_wins() -> None:
    messages = (
        plan("basic", "03-02T00:00:00", "03-01T00:00:00"),
        plan("gold", "03-02T00:00:00", "03-01T00:00:01"),
        call("03-02T00:00:00", 1),
    )
    assert column(outcome(group(), *messages), "planned", "n") == {"gold": 1}


def test_a_change_in_the_append_of_a_tuple_is_in_force_for_it() -> None:
    body = {
        "calls": [{"caller": "a", "n": 1, "at": "2026-03-01T10:00:00Z"}],
        "people": [{"name": "a", "plan": "gold", "_from": "2026-03-01T10:00:00Z"}],
    }
    assert column(outcome(group(), taken("2026-03-01T10:00:00Z", body)), "planned", "n") == {"gold": 1}


def test_after_a_delete_nothing_is_in_force_and_the_tuple_is_counted_as_unmatched() -> None:
    gone = {"people": [{"_op": "delete", "name": "a", "_from": "2026-03-02T00:00:00Z"}]}
    messages = plan("basic", "03-01T00:00:00", "03-01T00:00:00"), taken("2026-03-01T01:00:00Z", gone)
    result = outcome(group(), *messages, call("03-01T12:00:00", 1), call("03-02T12:00:00", 10))
    assert column(result, "planned", "n") == {"basic": 1}
    assert result.unmatched["planned"] == 1
    assert fates(result) == ["applied"] * 4


def test_another_slots_change_is_known_from_the_next_epoch_on() -> None:
    messages = (
        plan("gold", None, "03-01T00:00:00"),
        call("03-01T10:00:00", 1, slot=1),
        call("03-01T11:00:00", 10, slot=1),
    )
    assert column(outcome(group(), *messages), "planned", "n") == {}
    assert column(outcome(group(), *messages, epochs=[2]), "planned", "n") == {"gold": 10}


def test_a_malformed_tuple_makes_the_whole_append_malformed() -> None:
    good = {"caller": "a", "n": 1, "at": "2026-03-01T10:00:00Z"}
    messages = [
        taken("2026-03-01T10:00:00Z", {"calls": [good, {**good, "n": "1"}]}),
        taken("2026-03-01T10:00:00Z", {"calls": [good, {**good, "at": "2026-03-01T10:00:01Z"}]}),
        taken("2026-03-01T10:00:00Z", {"unknown": [good]}),
        taken("2026-03-01T10:00:00Z", None),
        taken("2026-03-01T10:00:00Z", {"calls": [good, good]}),
    ]
    result = outcome(group(), *messages)
    assert fates(result) == ["malformed"] * 4 + ["applied"]
    assert column(result, "ever", "n") == {(): 2}
    assert result.fates == {0: {"malformed": 4, "applied": 1}}


def test_changes_alone_have_no_chronon_and_leave_the_clock() -> None:
    result = outcome(group(), call("03-01T10:00:00", 1), plan("gold", "05-01T00:00:00", "03-02T00:00:00"))
    assert result.clock == parse_instant("2026-03-01T10:00:00Z")


def test_a_sum_that_its_type_cannot_hold_is_no_row() -> None:
    big = 2**63 - 1
    result = outcome(group(), call("03-01T10:00:00", big), call("03-01T11:00:00", 1))
    assert result.rows["ever"] == {}
    assert len(result.overflowed["ever"]) == 1
    result = outcome(group(), call("03-01T10:00:00", big), call("03-01T11:00:00", 1), call("03-01T12:00:00", -5))
    assert column(result, "ever", "n") == {(): big - 4}, "a sum may leave its range and come back"


BILLING = """
chronicles:
  calls: {columns: {caller: string, amount: "decimal(12,2)", at: timestamp}, chronon: at}
relations:
  customers: {key: number, columns: {number: string, zone: string, since: timestamp}}
calendars: {cycle: {every: P1M, anchor: customers.since, zone: customers.zone}}
views:
  bill:
    from: calls
    join: {customers: caller = number}
    group_by: caller
    select: {spend: sum(amount)}
    period: {calendar: cycle}
"""


def test_each_key_has_the_periods_of_its_own_anchor_and_zone() -> None:
    people = [("a", "UTC", "2026-01-15T00:00:00Z"), ("b", "America/New_York", "2026-01-31T17:00:00Z")]
    changes = [{"number": n, "zone": z, "since": s, "_from": "2026-01-01T00:00:00Z"} for n, z, s in people]
    calls = [{"caller": who, "amount": "1.50", "at": "2026-03-01T12:00:00Z"} for who in ("a", "b", "nobody")]
    messages = taken("2026-01-01T00:00:00Z", {"customers": changes}), taken("2026-03-01T12:00:00Z", {"calls": calls})
    result = outcome(BILLING, *messages)
    found = {(key.key, key.start, key.end): row["spend"] for key, row in result.rows["bill"].items()}
    assert found == {
        (("a",), parse_instant("2026-02-15T00:00:00Z"), parse_instant("2026-03-15T00:00:00Z")): Decimal("1.50"),
        (("b",), parse_instant("2026-02-28T17:00:00Z"), parse_instant("2026-03-31T16:00:00Z")): Decimal("1.50"),
    }
