"""SELECT with GROUP BY or aggregates: its keys, its aggregates, and what may not stand beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from chronicle.expressions import Expression, columns_of
from views.algebra import Aggregate
from views.parse.binding import bound, is_refused
from views.parse.calls import aggregate, calls_in, is_call
from views.parse.codes import Code
from views.parse.findings import Draft, Repair, Report, spot_of
from views.parse.joining import Joined, qualify
from views.parse.naming import output_name
from views.parse.rendering import written


@dataclass(slots=True)
class Grouped:
    """`computed` are items over aggregates or keys; inside the algebra they become a projection."""

    keys: list[tuple[str, Expression]] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)
    computed: list[tuple[str, exp.Expr]] = field(default_factory=list)
    key_texts: list[exp.Expr] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """The names of the select list, in its order."""


@dataclass(slots=True)
class _Key:
    tree: exp.Expr
    value: Expression
    name: str | None = None


def grouped(query: exp.Select, joined: Joined, report: Report) -> Grouped | None:
    """None after a finding."""
    before = len(report.findings)
    keys = [key for tree in group_trees(query, joined, report) if (key := _key(tree, joined, report)) is not None]
    result = Grouped(key_texts=[key.tree for key in keys])
    for item in query.expressions:
        _item(item, keys, joined, result, report)
    for key in keys:
        name = key.name or _own_name(key, result.order, report)
        if name is not None:
            result.keys.append((name, key.value))
    return result if len(report.findings) == before else None


def group_trees(query: exp.Select, joined: Joined, report: Report) -> list[exp.Expr]:
    """What is grouped by, with ordinals and the names of the select list put in."""
    group = query.args.get("group")
    if group is None:
        return []
    for part, value in group.args.items():
        if part != "expressions" and value:
            report.add(
                Code.UNSUPPORTED, f"GROUP BY {part.replace('_', ' ').upper()}", spot_of(group), _only_keys(group)
            )
    named = {item.alias.casefold(): item.this for item in query.expressions if isinstance(item, exp.Alias)}
    known = {column.name.casefold() for column in joined.scope.columns}
    trees: list[exp.Expr] = []
    for tree in group.expressions:
        inner = tree.unnest()
        if isinstance(tree, exp.Literal) and not tree.is_string:
            place = int(tree.name) if tree.name.isdigit() else 0
            if not 1 <= place <= len(query.expressions):
                what = f"GROUP BY {tree.name}: there is no such column"
                report.add(Code.NOT_GROUPED, what, spot_of(tree), _drop_key(tree))
                continue
            trees.append(query.expressions[place - 1].unalias())
        elif isinstance(inner, exp.Column) and not inner.table and inner.name.casefold() in named.keys() - known:
            trees.append(named[inner.name.casefold()])
        else:
            trees.append(inner)
    return trees


def _key(tree: exp.Expr, joined: Joined, report: Report) -> _Key | None:
    if call := next(iter(calls_in(tree)), None):
        report.add(Code.NESTED_AGGREGATE, f"an aggregate in GROUP BY: {written(call)}", spot_of(tree), _drop_key(tree))
        return None
    value = bound(qualify(tree, joined.using), joined.scope, report)
    return None if value is None else _Key(tree, value)


def _item(item: exp.Expr, keys: list[_Key], joined: Joined, result: Grouped, report: Report) -> None:
    tree = item.unalias()
    if report.findings and is_refused(tree):
        return
    if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
        report.add(Code.SELECT_STAR, "SELECT * beside GROUP BY", spot_of(item), lambda draft: _pop(item))
        return
    name = output_name(item, report)
    if name is None:
        return
    if name in result.order:
        _same_name(item, name, report)
        return
    result.order.append(name)
    if is_call(tree):
        call = aggregate(_qualified(tree, joined), name, joined.scope, report)
        if call is not None:
            result.aggregates.append(call)
    elif calls_in(tree):
        result.computed.append((name, tree))
    else:
        _plain_item(item, tree, name, keys, joined, result, report)


def _plain_item(
    item: exp.Expr, tree: exp.Expr, name: str, keys: list[_Key], joined: Joined, result: Grouped, report: Report
) -> None:
    value = bound(_qualified(tree, joined), joined.scope, report)
    if value is None:
        return
    key = next((key for key in keys if key.value == value and key.name is None), None)
    if key is not None:
        key.name = name
    elif columns_of(value) <= frozenset().union(*(columns_of(key.value) for key in keys)):
        result.computed.append((name, tree))
    else:
        what = f"'{written(tree)}' is neither grouped by nor aggregated"
        report.add(Code.NOT_GROUPED, what, spot_of(item), lambda draft: _group_by(item, tree))


def _qualified(tree: exp.Expr, joined: Joined) -> exp.Expr:
    return qualify(tree, joined.using)


def _own_name(key: _Key, taken: list[str], report: Report) -> str | None:
    """A grouping column that the select list does not have is a column of the view under its last part."""
    if isinstance(key.tree, exp.Column) and key.tree.name not in taken:
        return key.tree.name
    what = f"'{written(key.tree)}' is grouped by, and has no name of its own in the view"
    report.add(Code.NO_NAME, what, spot_of(key.tree), lambda draft: _name_key(key.tree))
    return None


def _same_name(item: exp.Expr, name: str, report: Report) -> None:
    def repair(draft: Draft) -> None:
        item.replace(exp.alias_(item.unalias().copy(), f"{name}_2"))

    report.add(Code.SAME_NAME, f"two columns are called '{name}'", spot_of(item), repair)


def _name_key(tree: exp.Expr) -> None:
    query = tree.find_ancestor(exp.Select)
    if query is not None:
        query.append("expressions", exp.alias_(tree.copy(), "key"))


def _group_by(item: exp.Expr, tree: exp.Expr) -> None:
    query = item.find_ancestor(exp.Select)
    if query is None:
        return
    group = query.args.get("group")
    if group is None:
        query.set("group", exp.Group(expressions=[tree.copy()]))
    else:
        group.append("expressions", tree.copy())


def _pop(node: exp.Expr) -> None:
    node.pop()


def _drop_key(tree: exp.Expr) -> Repair:
    return lambda draft: _pop(tree)


def _only_keys(group: exp.Expr) -> Repair:
    """GROUP BY ROLLUP (a, b) to GROUP BY a, b."""

    def repair(draft: Draft) -> None:
        for part in [part for part in group.args if part != "expressions"]:
            for inner in group.args.get(part) or () if isinstance(group.args.get(part), list) else ():
                for column in inner.find_all(exp.Column):
                    group.append("expressions", column.copy())
            group.set(part, None)

    return repair
