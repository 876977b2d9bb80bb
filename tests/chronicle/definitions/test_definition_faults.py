"""Every fault of a definition says what, where, and what to do; all of them are found in one go."""

from __future__ import annotations

from pathlib import Path

import pytest
from definition_texts import EXAMPLES, SMALL, example_text

from chronicle.definitions import load, load_text
from chronicle.errors import Fault, UsageError


def faults_of(text: str) -> tuple[Fault, ...]:
    return load_text(text).all_faults


def only_fault(text: str) -> Fault:
    (fault,) = faults_of(text)
    return fault


def place_of(fault: Fault) -> tuple[int, int]:
    assert fault.place is not None
    return fault.place.line, fault.place.column


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_that_is_shipped_is_without_fault(example: str) -> None:
    loaded = load_text(example_text(example))
    assert loaded.all_faults == ()
    assert loaded.definition is not None
    assert loaded.definition.name == example


@pytest.mark.parametrize(
    ("key", "wrong", "place"),
    [
        ("name", "nam", (2, 1)),
        ("columns", "colums", (5, 5)),
        ("chronon", "cronon", (6, 5)),
        ("key", "kee", (9, 5)),
        ("every", "evry", (12, 11)),
        ("from", "form", (15, 5)),
        ("group_by", "groupby", (16, 5)),
        ("calendar", "calender", (18, 14)),
    ],
)
def test_an_unknown_key_names_the_nearest_the_choices_and_its_place(
    key: str, wrong: str, place: tuple[int, int]
) -> None:
    fault = only_fault(SMALL.replace(f"{key}: ", f"{wrong}: ", 1))
    assert fault.code == "CH201"
    assert f"did you mean '{key}'?" in fault.what
    assert key in fault.why
    assert fault.fix == f"write {key}"
    assert place_of(fault) == place


@pytest.mark.parametrize(
    ("right", "wrong", "code", "says"),
    [
        ("chronicle: 1", "chronicle: 2", "CH211", "'chronicle' is 1, not 2"),
        ("name: small", "name: ''", "CH204", "'' cannot be a name"),
        ("seconds: int64", "seconds: int", "CH206", "unknown type 'int'"),
        ("seconds: int64", "sn: int64", "CH204", "a column cannot be called 'sn'"),
        ("seconds: int64", "_op: int64", "CH204", "begins with an underscore"),
        ("seconds: int64", "Caller: int64", "CH205", "differ in upper and lower case only"),
        ("chronon: at", "chronon: att", "CH207", "did you mean 'at'?"),
        ("chronon: at", "chronon: caller", "CH207", "is a string"),
        ("key: [number]", "key: [numbr]", "CH208", "did you mean 'number'?"),
        ("key: [number]", "key: []", "CH203", "'key' is empty"),
        ("key: [number]", "key: [number, number]", "CH208", "twice"),
        ("zone: America/New_York", "zone: America/NewYork", "CH209", "unknown zone"),
        ("zone: America/New_York", "zone: customers.zon", "CH209", "did you mean 'zone'?"),
        ("zone: America/New_York", "zone: customer.zone", "CH209", "did you mean 'customers'?"),
        ("zone: America/New_York", "zone: customers.since", "CH209", "which is a timestamp"),
        ("{calendar: month}", "{calendar: month, grace: 2 days}", "CH210", "not an ISO 8601 duration"),
        ("{calendar: month}", "{calendar: month, late: nxt}", "CH211", "did you mean 'next'?"),
        ("from: calls", "sql: SELECT 1\n    from: calls", "CH202", "'sql' and 'from' are both given"),
        ("group_by: [caller]", "group_by: {caller: x}", "CH203", "takes a list, not a mapping"),
        ("customers:\n", "Calls:\n", "CH205", "is also the name of the chronicle"),
    ],
)
def test_a_wrong_value_says_what_was_expected(right: str, wrong: str, code: str, says: str) -> None:
    fault = only_fault(SMALL.replace(right, wrong))
    assert (fault.code, says in fault.what) == (code, True), fault
    assert fault.place is not None
    assert fault.place.source in SMALL.replace(right, wrong).splitlines()


def test_an_unquoted_decimal_inside_braces_is_explained() -> None:
    found = faults_of(SMALL.replace('"decimal(12,2)"', "decimal(12,2)"))
    assert any("quotes" in fault.fix for fault in found)


@pytest.mark.parametrize("columns", ["{a: string?, b: int64?}", '{a: "decimal(12,2)?"}', "\n      a: date?"])
def test_a_question_mark_after_a_type_makes_it_nullable(columns: str) -> None:
    loaded = load_text(f"chronicle: 1\nname: n\nchronicles:\n  c:\n    columns: {columns}\n")
    assert loaded.definition is not None, loaded.all_faults
    assert all(column.nullable for column in loaded.definition.chronicles["c"].columns.columns)


def test_all_faults_of_a_file_come_in_one_go_in_the_order_of_the_file() -> None:
    text = SMALL.replace("name:", "nam:").replace("int64", "int").replace("chronon: at", "chronon: att")
    text = text.replace("key: [number]", "key: [numbr]").replace("P1M", "P1X").replace("sum(seconds)", "[]")
    loaded = load_text(text)
    assert [fault.code for fault in loaded.faults] == ["CH201", "CH206", "CH208", "CH209"]
    assert [fault.code for fault in loaded.view_faults["usage"]] == ["CH203"]
    lines = [place_of(fault) for fault in loaded.faults]
    assert lines == sorted(lines)


def test_a_fault_inside_a_view_leaves_the_other_views_standing() -> None:
    loaded = load_text(SMALL + "  broken: {from: calls, selct: {n: count(*)}}\n")
    assert loaded.faults == ()
    assert list(loaded.view_faults) == ["broken"]
    assert loaded.definition is not None
    assert list(loaded.definition.views) == ["usage"]


def test_a_part_left_out_for_its_own_fault_is_not_said_to_be_missing() -> None:
    text = SMALL.replace("zone: America/New_York", "zone: customers.zone").replace("key: [number]", "kee: [number]")
    assert [fault.code for fault in faults_of(text)] == ["CH201"]


def test_a_key_given_twice_names_both_places() -> None:
    fault = only_fault(SMALL + "name: again\n")
    assert fault.code == "CH003"
    assert "chronicle.yaml:2:1" in fault.what
    assert place_of(fault) == (19, 1)


def test_a_variable_inside_braces_is_told_to_be_quoted() -> None:
    assert only_fault("source: {journal: ${DIR}}\n").fix == 'inside { } a ${NAME} needs quotes: "${NAME}"'
    assert "CH001" not in {fault.code for fault in faults_of('source: {journal: "${DIR:d}"}\n')}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "CH006"),
        ("# nothing\n", "CH006"),
        ("just text", "CH006"),
        ("- a list", "CH006"),
        ("a: 1\n---\nb: 2\n", "CH006"),
        ("a: [1, 2", "CH001"),
        ("a: b: c", "CH001"),
        ("a:\n\t- b", "CH001"),
        (b"\xff\xfe\x00", "CH002"),
        ("a: \x07", "CH002"),
        ("a: *nowhere", "CH005"),
        ("a: !!python/object:os.system x", "CH005"),
        ("? [a]\n: b", "CH005"),
        ("[" * 5000, "CH004"),
        ("a: " + "x" * (9 << 20), "CH004"),
    ],
)
def test_text_that_is_no_definition_is_one_clear_fault(text: str | bytes, code: str) -> None:
    loaded = load_text(text)
    assert [fault.code for fault in loaded.all_faults][-1] == code
    assert loaded.definition is None


def test_a_bomb_of_aliases_is_a_fault_and_not_a_hang() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    loaded = load_text("\n".join(["a0: &a0 [x]", *levels]))
    assert [fault.code for fault in loaded.all_faults] == ["CH004"]


def test_an_alias_stands_for_its_value_and_a_merge_key_for_its_entries() -> None:
    text = SMALL.replace("month: {", "month: &m {") + "  twice: {<<: &v {from: calls}, group_by: caller}\n"
    loaded = load_text(text.replace("calendar: month}", "calendar: month, grace: &g P2D}"))
    assert loaded.all_faults == ()
    assert loaded.definition is not None
    assert loaded.definition.views["twice"].group_by == ("caller",)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no definition file"):
        load(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="is a directory"):
        load(tmp_path)
