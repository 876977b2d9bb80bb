"""Passes that change an expression's columns, and the conjuncts of a predicate (for push-down)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chronicle.expressions.conditions import And
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Expression, children, map_children
from chronicle.types import BOOL


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the columns that the expression reads."""
    if isinstance(expression, ColumnRef):
        return frozenset((expression.name,))
    return frozenset().union(*(columns_of(child) for child in children(expression)))


def rename(expression: Expression, names: Mapping[str, str] | Callable[[str], str]) -> Expression:
    """The same expression over columns of other names; a mapping may leave out those that stay."""
    if isinstance(expression, ColumnRef):
        name = names(expression.name) if callable(names) else names.get(expression.name, expression.name)
        return ColumnRef(name, expression.type, expression.nullable)
    return map_children(expression, lambda child: rename(child, names))


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with columns replaced by expressions of their types."""
    if isinstance(expression, ColumnRef):
        return values.get(expression.name, expression)
    return map_children(expression, lambda child: substitute(child, values))


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The conditions that must all be true for the expression to be."""
    if expression == Literal(True, BOOL):
        return ()
    if isinstance(expression, And):
        return tuple(part for operand in expression.operands for part in conjuncts(operand))
    return (expression,)


def conjunction(parts: Iterable[Expression]) -> Expression:
    """One condition that is true where all of them are; of none, the constant true."""
    flat = tuple(condition for part in parts for condition in conjuncts(part))
    if not flat:
        return Literal(True, BOOL)
    return flat[0] if len(flat) == 1 else And(flat)
