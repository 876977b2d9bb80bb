"""The algebra as text and as JSON: one line an operator, its input below it, in the paper's symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from chronicle.expressions import Expression
from views.algebra.chronicles import (
    Aggregate,
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
from views.algebra.traversal import inputs

Render = Callable[[Expression], str]
Named = tuple[tuple[str, Expression], ...]


def drawn(tree: Summary | Node, render: Render) -> list[str]:
    """The tree as indented lines."""
    return _lines(tree, render, "", "")


def to_json(tree: Summary | Node, render: Render) -> dict[str, Any]:
    return {
        "operator": type(tree).__name__,
        "text": line(tree, render),
        "inputs": [to_json(part, render) for part in inputs(tree)],
    }


def line(tree: Summary | Node, render: Render) -> str:
    """One operator, without its inputs."""
    match tree:
        case Chronicle(name, schema):
            return f"{name} ({', '.join(schema.names)})"
        case Select(_, predicate):
            return f"σ {render(predicate)}"
        case Project(_, columns):
            return f"Π sn, {_named(columns, render)}"
        case SnJoin():
            return "⋈ sn = sn"
        case Union():
            return "∪" if tree.distinct else "∪ all"
        case Difference():
            return "−" if tree.distinct else "− all"
        case GroupBySn(_, keys, aggregates):
            return f"γ {_grouped([('sn', 'sn')], keys, aggregates, render)}"
        case RelationJoin():
            return _relation_join(tree, render)
        case GroupBy(_, keys, aggregates):
            return f"Γ {_grouped([], keys, aggregates, render)}"
        case Distinct(_, columns):
            return f"Π distinct {_named(columns, render)}"
    assert_never(tree)


def aggregate_text(aggregate: Aggregate, render: Render) -> str:
    values = [*(render(argument) for argument in aggregate.arguments), *map(str, aggregate.parameters)]
    call = f"{aggregate.function}({', '.join(values) or '*'})"
    return call if aggregate.filter is None else f"{call} filter (where {render(aggregate.filter)})"


def _lines(tree: Summary | Node, render: Render, first: str, rest: str) -> list[str]:
    found = [f"{first}{line(tree, render)}"]
    below = inputs(tree)
    for place, part in enumerate(below, 1):
        last = place == len(below)
        found += _lines(part, render, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
    return found


def _named(columns: Named, render: Render) -> str:
    return ", ".join(text if (text := render(value)) == name else f"{text} as {name}" for name, value in columns)


def _grouped(first: list[tuple[str, str]], keys: Named, aggregates: tuple[Aggregate, ...], render: Render) -> str:
    by = ", ".join([name for name, _ in first] + ([_named(keys, render)] if keys else []))
    values = ", ".join(f"{aggregate_text(a, render)} as {a.name}" for a in aggregates)
    return f"by {by or 'nothing'}: {values}" if values else f"by {by}"


def _relation_join(join: RelationJoin, render: Render) -> str:
    key = " and ".join(f"{join.alias}.{name} = {render(value)}" for name, value in join.key)
    how = f"by key {key}" if join.access == "key" else f"by scan{f' with {key}' if key else ''}"
    residual = f", on {render(join.residual)}" if join.residual is not None else ""
    name = join.relation if join.alias == join.relation else f"{join.relation} {join.alias}"
    columns = f" giving {', '.join(column.name for column in join.columns)}" if join.columns else ""
    return f"{'⟕' if join.outer else '⋈'} {name} in force at chronon, {how}{residual}{columns}"
