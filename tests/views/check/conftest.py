"""What the checker's tests share."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest
from refusal_cases import verdict_of

from views.check import ViewVerdict


@pytest.fixture
def judge() -> Callable[[str], ViewVerdict]:
    """The verdict on one view, given as SQL or as the YAML of its body."""

    def one(body: str) -> ViewVerdict:
        text = body if body.startswith(("from:", "sql:")) else f"sql: |\n{indent(body, '  ')}"
        verdict = verdict_of(f"views:\n  v:\n{indent(text, '    ')}\n")
        assert not verdict.errors
        return verdict.views["v"]

    return one
