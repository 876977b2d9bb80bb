"""A fix that moves an expression over aggregates from the query to `derive`."""

from __future__ import annotations

from sqlglot import exp

from views.parse.calls import calls_in, is_call
from views.parse.findings import Draft
from views.parse.rendering import written


def move_to_derive(draft: Draft, query: exp.Select, name: str, tree: exp.Expr) -> None:
    """`round(sum(x) / count(*), 2) AS y` to the aggregates, named, and y under derive."""
    names = {written(item.unalias()): item.alias_or_name for item in query.expressions if is_call(item.unalias())}
    for call in calls_in(tree):
        text = written(call)
        if text not in names:
            names[text] = _free_name(query, call)
            query.append("expressions", exp.alias_(call.copy(), names[text]))
    over = tree.copy().transform(lambda node: exp.column(names[text]) if (text := written(node)) in names else node)
    for column in over.find_all(exp.Column):
        column.set("table", None)
    draft.derive = {name: written(over), **draft.derive}
    item = next((item for item in query.expressions if item.alias_or_name == name), None)
    if item is not None:
        item.pop()


def _free_name(query: exp.Select, call: exp.Expr) -> str:
    taken = {item.alias_or_name.casefold() for item in query.expressions}
    column = call.find(exp.Column)
    wanted = f"{call.key}_{column.name}" if column is not None else f"{call.key}_all"
    while wanted.casefold() in taken:
        wanted += "_"
    return wanted
