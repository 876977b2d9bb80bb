"""A path in the definition, and an offset inside a text, point at the right line and column of the file."""

from __future__ import annotations

import pytest
from definition_texts import SMALL

from chronicle.definitions import load_text

SQL = "SELECT caller, count(*) AS n FROM calls WHERE wrong = 1 GROUP BY caller"

FORMS = {
    "plain": f"""
    sql: {SQL}
""",
    "plain over two lines": """
    sql: SELECT caller, count(*) AS n
      FROM calls WHERE wrong = 1 GROUP BY caller
""",
    "single quoted": """
    sql: 'SELECT caller, ''it''''s'' AS s, count(*) AS n FROM calls WHERE wrong = 1 GROUP BY caller'
""",
    "double quoted": r"""
    sql: "SELECT \"caller\", \x41\t count(*) AS n FROM calls WHERE wrong = 1 GROUP BY caller"
""",
    "literal block": """
    sql: |
      SELECT caller, count(*) AS n
      FROM calls
        WHERE wrong = 1
      GROUP BY caller
""",
    "folded block": """
    sql: >-
      SELECT caller, count(*) AS n
      FROM calls

      WHERE wrong = 1 GROUP BY caller
""",
    "inside braces": f"""
    {{sql: "{SQL}", derive: {{a: n}}}}
""",
}


@pytest.mark.parametrize("form", FORMS)
def test_an_offset_inside_a_text_is_found_in_every_form_of_yaml(form: str) -> None:
    text = f"{SMALL}  u:{FORMS[form]}"
    loaded = load_text(text)
    assert loaded.definition is not None, loaded.all_faults
    sql = loaded.definition.views["u"].sql
    assert sql is not None
    place = loaded.place(("views", "u", "sql"), sql.index("wrong"))
    assert place.source == text.splitlines()[place.line - 1]
    assert place.source[place.column - 1 :].startswith("wrong")


def test_the_place_of_a_mapping_is_its_key_and_of_a_missing_part_what_encloses_it() -> None:
    loaded = load_text(SMALL)
    assert str(loaded.place(("views", "usage"))) == "chronicle.yaml:14:3"
    assert str(loaded.place(("views", "usage", "where"))) == "chronicle.yaml:14:3"
    assert str(loaded.place(("views", "usage", "group_by", 0))) == "chronicle.yaml:16:16"
    assert str(loaded.key_place(("views", "usage", "from"))) == "chronicle.yaml:15:5"


def test_the_caret_stands_under_the_column_even_in_a_very_long_line() -> None:
    text = SMALL + "  u: {from: calls, where: '" + "x" * 5000 + "', selct: {n: count(*)}}\n"
    (fault,) = load_text(text).view_faults["u"]
    assert fault.place is not None
    source, caret = fault.place.caret().split("\n")
    assert source[caret.index("^") :].startswith("selct")
    assert len(source) < 300


def test_a_tab_before_the_caret_keeps_it_in_its_column() -> None:
    (fault,) = load_text(SMALL + "  u:\t{from: calls, selct: {n: count(*)}}\n").view_faults["u"]
    assert fault.place is not None
    source, caret = fault.place.caret().split("\n")
    assert source[caret.index("^") :].startswith("selct")
    assert caret.count("\t") == 1


def test_a_place_keeps_only_what_stands_around_it_however_long_its_line_is() -> None:
    views = ", ".join(f"v{n}: {{form: calls}}" for n in range(400))
    loaded = load_text(SMALL.partition("views:")[0] + f"views: {{{views}}}\n")
    places = [fault.place for faults in loaded.view_faults.values() for fault in faults]
    assert len(places) >= 400
    assert max(len(place.source) for place in places if place is not None) < 1000
