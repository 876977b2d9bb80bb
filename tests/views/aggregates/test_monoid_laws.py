"""The laws that make folding right: associative, commutative, identity, and partials add up."""

from __future__ import annotations

import pytest
from aggregate_cases import CASES, TYPES, agree, contributions, monoid_for
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.types import INT64, DataType
from views.aggregates.monoid import BLOB, Contribution, Monoid, columns_of_state, state_at
from views.aggregates.registry import monoid

every_type = pytest.mark.parametrize("argument", TYPES, ids=str)


def aggregates_of(argument: DataType) -> list[tuple[str, Monoid]]:
    """All aggregates that take this type; they are fed with the same values, because drawing these is what costs."""
    return [(function, monoid_for(function, argument)) for function, taken in CASES if taken == argument]


@every_type
@settings(max_examples=12)
@given(data=st.data())
def test_merge_is_a_commutative_monoid_and_partials_add_up(argument: DataType, data: st.DataObject) -> None:
    first, second, third = (data.draw(contributions(argument, sn)) for sn in (0, 10, 20))
    for function, each in aggregates_of(argument):
        a, b, c = (each.prepare(part) for part in (first, second, third))
        merge = each.merge_one
        assert agree(each, merge(a, merge(b, c)), merge(merge(a, b), c)), f"{function} is associative"
        assert agree(each, merge(a, b), merge(b, a)), f"{function} is commutative"
        assert agree(each, merge(a, each.identity), a), f"{function} has a right identity"
        assert agree(each, merge(each.identity, a), a), f"{function} has a left identity"
        assert agree(each, merge(a, b), each.prepare(first + second)), f"partials of {function} add up"
        assert agree(each, each.prepare([]), each.identity), f"{function} of nothing is its identity"


@every_type
@settings(max_examples=8)
@given(data=st.data())
def test_merge_by_columns_is_merge_of_each_row(argument: DataType, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(contributions(argument, 0), contributions(argument, 10)), max_size=4))
    for function, each in aggregates_of(argument):
        left, right = ([each.prepare(part) for part in side] for side in ([p[0] for p in pairs], [p[1] for p in pairs]))
        merged = each.merge(columns_of_state(each.fields, left), columns_of_state(each.fields, right))
        dtypes = {field.name: object if field.dtype == BLOB else field.dtype for field in each.fields}
        assert {name: column.dtype for name, column in merged.items()} == dtypes, function
        for row, (a, b) in enumerate(zip(left, right, strict=True)):
            assert agree(each, state_at(each.fields, merged, row), each.merge_one(a, b)), function


@pytest.mark.parametrize(
    ("function", "parameters", "different", "expected"),
    [
        ("approx_distinct", (), 4096, 4096),
        ("approx_quantile", (0.5,), 400, 199.0),
        ("approx_top_k", (2,), 768, "[[0, 2], [1, 1]]"),
    ],
)
def test_a_sketch_is_exact_up_to_its_stated_size(
    function: str, parameters: tuple[int | float, ...], different: int, expected: object
) -> None:
    sketch = monoid(function, INT64, parameters)
    state = sketch.identity
    for first in range(0, different, 64):
        part = [Contribution(value) for value in range(first, min(first + 64, different))]
        state = sketch.merge_one(state, sketch.prepare(part))
    if function == "approx_top_k":
        state = sketch.merge_one(state, sketch.prepare([Contribution(0)]))
    assert sketch.finalise(state) == expected
