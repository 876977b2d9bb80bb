"""Any text whatsoever as a definition gives faults, never an exception."""

from __future__ import annotations

import pytest
from definition_texts import EXAMPLES, SMALL, example_text
from hypothesis import example, given
from hypothesis import strategies as st

from chronicle.definitions import load_text

TEXTS = (SMALL, *(example_text(name) for name in EXAMPLES))
TOKENS = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "-",
    "'",
    '"',
    "|",
    ">",
    "&a ",
    "*a",
    "<<: ",
    "?",
    "!",
    "#",
    "\n",
    "  ",
    "\t",
    "\0",
)
VALUES = (
    "null",
    "~",
    "1",
    "-1",
    "1e999",
    "0.1",
    "true",
    "{}",
    "[]",
    "[[]]",
    "{a: {b: c}}",
    '""',
    "P1M",
    "${X}",
    "2026-01-01",
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid definition after one to four cuts, insertions, swaps and replaced values."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        match draw(st.sampled_from(("cut", "insert", "value", "line", "word"))):
            case "cut":
                text = text[:at] + text[at + draw(st.integers(1, 40)) :]
            case "insert":
                text = text[:at] + draw(st.sampled_from(TOKENS)) + text[at:]
            case "value":
                colon = text.find(": ", at)
                end = text.find("\n", colon)
                text = f"{text[: colon + 2]}{draw(st.sampled_from(VALUES))}{text[end:]}" if 0 <= colon < end else text
            case "line":
                lines = text.splitlines(keepends=True) or [""]
                text = "".join([*lines, lines[draw(st.integers(0, len(lines) - 1))]])
            case _:
                text = text[:at] + draw(st.text(max_size=8)) + text[at:]
    return text


@given(mutated())
@example("chronicle: 1\nname: x\nchronicles: {}\n")
@example("views: {u: {period: 1, derive: {d: {tiers: 1}}}}")
@example("calendars: {m: {fiscal: 1}, n: {periods: [1, {name: 2}]}, o: {boundaries: 5}}")
@example("source: {kafka: 1}\nrelations: {r: {source: {kafka: []}}, s: 1}")
def test_no_mutation_of_a_definition_makes_it_raise(text: str) -> None:
    loaded = load_text(text)
    assert loaded.definition is not None or loaded.all_faults
    for fault in loaded.all_faults:
        assert fault.code.startswith("CH")
        assert fault.what
        assert fault.place is None or (fault.place.line >= 1 and fault.place.column >= 1)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    assert load_text(raw).all_faults


@pytest.mark.parametrize("text", [SMALL + "  u: {sql: '" + "x" * 1_000_000 + "'}\n", "x" * 1_000_000, "a:\n" * 10_000])
def test_large_texts_end_soon(text: str) -> None:
    loaded = load_text(text)
    assert all(len(fault.what) < 2_000 for fault in loaded.all_faults)
