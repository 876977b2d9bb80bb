"""Small edits of a syntax tree, from which repairs are made."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from views.parse.findings import Draft, Repair


def drop(node: exp.Expr) -> None:
    """Leaves out the smallest part of the query that can go with this node: a condition, a column, a clause."""
    here: exp.Expr = node
    while (parent := here.parent) is not None:
        if isinstance(parent, exp.And):
            parent.replace(parent.right if here is parent.left else parent.left)
            return
        if isinstance(parent, exp.Where | exp.Having):
            grandparent = parent.parent
            parent.pop()
            if isinstance(grandparent, exp.Filter):
                grandparent.replace(grandparent.this)
            return
        if isinstance(parent, exp.Select) and here.arg_key == "expressions":
            here.pop()
            _ungroup(parent, here)
            return
        if isinstance(parent, exp.Group | exp.Join | exp.Select):
            here.pop()
            return
        here = parent


def dropping(node: exp.Expr) -> Repair:
    def repair(draft: Draft) -> None:
        drop(node)

    return repair


def _ungroup(query: exp.Select, item: exp.Expr) -> None:
    """A column that is gone is not grouped by either."""
    group = query.args.get("group")
    for key in list(group.expressions) if group else ():
        if key == item.unalias():
            key.pop()
    if group and not group.expressions:
        group.pop()


def rewrite_column(column: exp.Column, name: str) -> None:
    qualifier, _, last = name.rpartition(".")
    column.set("this", exp.to_identifier(last))
    column.set("table", exp.to_identifier(qualifier) if qualifier else None)


def group_by_plain_columns(query: exp.Select, has_call: Callable[[exp.Expr], bool]) -> None:
    """Groups by every column of the query that has no aggregate."""
    keys = [item.unalias().copy() for item in query.expressions if not has_call(item)]
    query.set("distinct", None)
    query.set("group", exp.Group(expressions=keys) if keys else None)
