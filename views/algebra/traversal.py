"""Walking a tree of the algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from views.algebra.chronicles import (
    Chronicle,
    Difference,
    GroupBySn,
    Node,
    Project,
    RelationJoin,
    Select,
    SnJoin,
    Union,
)
from views.algebra.summaries import Distinct, GroupBy, Summary


def inputs(tree: Summary | Node) -> tuple[Node, ...]:
    match tree:
        case Chronicle():
            return ()
        case Select() | Project() | GroupBySn() | RelationJoin() | GroupBy() | Distinct():
            return (tree.input,)
        case SnJoin() | Union() | Difference():
            return (tree.left, tree.right)
    assert_never(tree)


def nodes(tree: Node) -> Iterator[Node]:
    """Every operator from the top; a shared part (a CTE named twice) as often as it is used."""
    yield tree
    for part in inputs(tree):
        yield from nodes(part)


def height(node: Node) -> int:
    """How many operators stand one above another."""
    return 1 + max(map(height, inputs(node)), default=0)
