"""The JSON Schema says what the loader says."""

from __future__ import annotations

import json

import jsonschema
import pytest
from definition_texts import EXAMPLES, SMALL, example_text

from chronicle.definitions import load_text
from chronicle.definitions.document import parse_document, plain
from chronicle.definitions.json_schema import json_schema
from chronicle.definitions.source_text import SourceText

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def as_json(text: str) -> object:
    """What an editor sees: our reading of YAML, as JSON."""
    root, faults = parse_document(SourceText.of("chronicle.yaml", text))
    assert root is not None, faults
    return json.loads(json.dumps(plain(root), default=float))


def test_it_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("text", [SMALL, *(example_text(name) for name in EXAMPLES)])
def test_it_admits_every_example(text: str) -> None:
    assert list(VALIDATOR.iter_errors(as_json(text))) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("chronicle: 1", "chronicle: 2"),
        ("name: small", "nam: small"),
        ("from: calls", "form: calls"),
        ("seconds: int64", "seconds: int"),
        ("every: P1M", "evry: P1M"),
        ("{calendar: month}", "{calendar: month, late: nxt}"),
        ("chronicles:", "chronicels:"),
        ("key: [number]", "key: []"),
    ],
)
def test_it_refuses_what_the_loader_refuses(right: str, wrong: str) -> None:
    text = SMALL.replace(right, wrong)
    assert load_text(text).all_faults
    assert list(VALIDATOR.iter_errors(as_json(text)))
