"""Any text whatsoever is judged: never a traceback, and never more work than the text is long."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusal_cases import GROUP, documented

from chronicle.definitions import ViewDefinition, load_text
from views.check import ViewVerdict, check
from views.parse.findings import MAX_FINDINGS
from views.parse.queries import MAX_HEIGHT

VOCABULARY = """
SELECT DISTINCT FROM JOIN LEFT ON USING (sn) WHERE GROUP BY HAVING ORDER LIMIT UNION ALL EXCEPT WITH AS ( ) , . * = <
calls payments customers caller callee seconds amount kind sn chronon number state count(*) sum(seconds) n x 'NJ' 1
AND OR NOT NULL CASE WHEN THEN END OVER IN EXISTS now() median( count(DISTINCT FILTER IS BETWEEN LIKE cast( ; -- /*
"""
WORDS = VOCABULARY.split()
QUERIES = [
    str(view.sql)
    for section in documented()
    if (definition := load_text(f"{GROUP}\n{section.example}").definition) is not None
    for view in definition.views.values()
    if view.sql is not None
]


def judged(sql: str) -> ViewVerdict:
    loaded = load_text(f"{GROUP}\nviews:\n  v: {{sql: x}}\n")
    assert loaded.definition is not None
    view = ViewDefinition.model_validate({"sql": sql})
    definition = loaded.definition.model_copy(update={"views": {"v": view}})
    return check(type(loaded)(loaded.files, definition, (), {}, loaded.calendars, loaded.root)).views["v"]


def assert_judged(sql: str) -> None:
    view = judged(sql)
    assert (view.checked is None) == bool(view.refusals)


@given(st.text(min_size=1, max_size=80))
def test_any_text_is_judged(sql: str) -> None:
    assert_judged(sql)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=25))
def test_any_words_are_judged(words: list[str]) -> None:
    assert_judged(" ".join(words))


@given(st.sampled_from(QUERIES), st.data())
def test_any_mutation_of_a_query_is_judged(query: str, data: st.DataObject) -> None:
    words = query.split(" ")
    place = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(st.sampled_from(WORDS + words))
    change = data.draw(st.sampled_from(["drop", "replace", "insert", "cut"]))
    changed = {
        "drop": [*words[:place], *words[place + 1 :]],
        "replace": [*words[:place], other, *words[place + 1 :]],
        "insert": [*words[:place], other, *words[place:]],
        "cut": words[: place + 1],
    }[change]
    assert_judged(" ".join(changed) or "x")


@settings(max_examples=10)
@given(st.integers(2, 40), st.sampled_from(["JOIN", "UNION ALL"]))
@example(30, "JOIN")
@example(30, "UNION ALL")
def test_a_tower_of_common_tables_is_judged_without_writing_it_out(height: int, step: str) -> None:
    inner = {
        "JOIN": "SELECT x.sn, x.caller FROM t{0} x JOIN t{0} y USING (sn)",
        "UNION ALL": "SELECT sn, caller FROM t{0} UNION ALL SELECT sn, caller FROM t{0}",
    }[step]
    tables = ["t0 AS (SELECT sn, caller FROM calls)", *(f"t{n + 1} AS ({inner.format(n)})" for n in range(height))]
    view = judged(f"WITH {', '.join(tables)} SELECT caller, count(*) AS n FROM t{height} GROUP BY caller")
    assert (view.checked is not None) == (height <= 7)


def test_deep_nesting_is_refused_not_a_crash() -> None:
    deep = "SELECT caller, count(*) AS n FROM " + "(SELECT * FROM " * 50 + "calls" + ") x" * 50 + " GROUP BY caller"
    assert_judged(deep)
    long = "SELECT caller, count(*) AS n FROM calls WHERE " + " AND ".join(["seconds > 0"] * 2000) + " GROUP BY caller"
    assert [fault.code for fault in judged(long).refusals] == ["CH138"]


def test_joins_up_to_the_limit_are_admitted_and_more_are_refused() -> None:
    def with_joins(count: int) -> ViewVerdict:
        steps = " ".join(f"LEFT JOIN customers c{n} ON calls.caller = c{n}.number" for n in range(count))
        return judged(f"SELECT calls.caller, count(*) AS n FROM calls {steps} GROUP BY calls.caller")

    assert with_joins(MAX_HEIGHT - 1).checked is not None
    for more in (MAX_HEIGHT, 1000):
        assert [fault.code for fault in with_joins(more).refusals] == ["CH138"]


def test_a_view_with_thousands_of_faults_lists_the_first_of_them() -> None:
    columns = ", ".join(f"sum(x{n}) AS y{n}" for n in range(500))
    refusals = judged(f"SELECT caller, {columns} FROM calls GROUP BY caller").refusals
    assert len(refusals) == MAX_FINDINGS + 1
    assert refusals[-1].what == f"and {500 - MAX_FINDINGS} more faults, not listed"


def test_a_column_that_reads_a_faulty_one_has_no_fault_of_its_own() -> None:
    derive = {"a": "b + 1", "b": "c + 1", "c": "nosuch + 1", "d": "e + 1", "e": "n +"}
    view = f"v: {{from: calls, select: {{n: count(*)}}, derive: {json.dumps(derive)}}}"
    loaded = load_text(f"{GROUP}\nviews:\n  {view}\n")
    assert [fault.code for fault in check(loaded).views["v"].refusals] == ["CH301", "CH309"]
