"""A SELECT inside the algebra: projection, grouping and DISTINCT that keep the sequence number (Definition 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from chronicle.expressions import ColumnRef, Expression, Scope, ScopeColumn
from views.algebra import Aggregate, GroupBySn, Node, Project, Select
from views.algebra.chronicles import IMPLICIT
from views.parse.binding import bound, bound_condition
from views.parse.calls import aggregate, calls_in, has_call
from views.parse.codes import Code
from views.parse.edits import dropping
from views.parse.findings import Draft, Report, spot_of
from views.parse.grouping import Grouped, grouped
from views.parse.joining import Joined, qualify
from views.parse.naming import output_name
from views.parse.rendering import written

KEPT = ("sn", "chronon")


@dataclass(frozen=True, slots=True)
class Inner:
    """`listed` are the columns in the order in which the query lists them, `sn` and `chronon` among them."""

    node: Node
    listed: tuple[str, ...]


def inner_select(query: exp.Select, joined: Joined, report: Report) -> Inner | None:
    if query.args.get("group") is not None or any(has_call(item) for item in query.expressions):
        return _grouped(query, joined, report)
    columns, listed = _columns(query, joined, report)
    if columns is None or _sn_is_lost(query, listed, report):
        return None
    if query.args.get("distinct") is not None:
        return Inner(GroupBySn(joined.node, columns, ()), listed)
    return Inner(projected(joined.node, columns), listed)


def projected(node: Node, columns: tuple[tuple[str, Expression], ...]) -> Node:
    """The projection, unless it changes nothing."""
    same = tuple((column.name, ColumnRef(column.name, column.type, column.nullable)) for column in node.schema.columns)
    return node if columns == same else Project(node, columns)


def _columns(
    query: exp.Select, joined: Joined, report: Report
) -> tuple[tuple[tuple[str, Expression], ...] | None, tuple[str, ...]]:
    columns: dict[str, Expression] = {}
    listed: list[str] = []
    whole = True
    for item in query.expressions:
        found = _starred(item, joined) if _is_star(item) else _one(item, joined, report)
        whole = whole and found is not None
        for name, value in found or ():
            if name in listed:
                what = f"two columns are called '{name}'"
                report.add(Code.SAME_NAME, what, spot_of(item), dropping(item))
                whole = False
                continue
            listed.append(name)
            if not (name in KEPT and isinstance(value, ColumnRef) and value.name == name):
                columns[name] = value
    return (tuple(columns.items()) if whole else None), tuple(listed)


def _is_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _starred(item: exp.Expr, joined: Joined) -> list[tuple[str, Expression]]:
    qualifier = item.table.casefold() if isinstance(item, exp.Column) else ""
    chosen = [c for c in joined.scope.columns if qualifier in ("", (c.qualifier or "").casefold())]
    kept = {c.name: (c.name, ColumnRef(c.name, c.type, c.nullable)) for c in IMPLICIT}
    found: list[tuple[str, Expression]] = [kept["sn"], kept["chronon"]] if any(c.id == "sn" for c in chosen) else []
    merged = {name: alias.casefold() for name, alias in joined.using.items()}
    for column in chosen:
        left = merged.get(column.name.casefold())
        if column.id not in kept and (left is None or (column.qualifier or "").casefold() == left):
            found.append((column.name, ColumnRef(column.id, column.type, column.nullable)))
    return found


def _one(item: exp.Expr, joined: Joined, report: Report) -> list[tuple[str, Expression]] | None:
    name = output_name(item, report)
    value = bound(qualify(item.unalias(), joined.using), joined.scope, report)
    if name is None or value is None:
        return None
    return [(value.name if isinstance(value, ColumnRef) and value.name == name.casefold() in KEPT else name, value)]


def _sn_is_lost(query: exp.Select, listed: tuple[str, ...], report: Report) -> bool:
    if "sn" in listed:
        return False
    shown = written(query)
    what = f"this step inside the query drops the sequence number: {shown[:80]}{'…' if len(shown) > 80 else ''}"
    report.add(Code.SN_LOST, what, spot_of(query), lambda draft: _keep_sn(query))
    return True


def _keep_sn(query: exp.Select) -> None:
    clause = query.args.get("from_")
    joins = query.args.get("joins")
    qualifier = clause.this.alias_or_name if clause is not None and joins else None
    query.set("expressions", [exp.column("sn", qualifier), *query.expressions])


def _grouped(query: exp.Select, joined: Joined, report: Report) -> Inner | None:
    found = grouped(query, joined, report)
    if found is None:
        return None
    if not any(isinstance(value, ColumnRef) and value.name == "sn" for _, value in found.keys):
        report.add(
            Code.GROUPED_WITHOUT_SN,
            "this grouping inside the query is not by sn, so its groups reach over many appends",
            spot_of(query.args.get("group") or query),
            lambda draft: _only_inner(draft, query),
        )
        return None
    if _sn_is_lost(query, tuple(found.order), report):
        return None
    return _inner_group(query, joined, found, report)


def _only_inner(draft: Draft, query: exp.Select) -> None:
    """The grouping inside as the view itself."""
    draft.query = query.copy()
    draft.derive = {}


def _inner_group(query: exp.Select, joined: Joined, found: Grouped, report: Report) -> Inner | None:
    keys = tuple(
        (name, value) for name, value in found.keys if not (isinstance(value, ColumnRef) and value.name in KEPT)
    )
    hidden = _hidden_aggregates(query, joined, found, report)
    if hidden is None:
        return None
    node: Node = GroupBySn(joined.node, keys, (*found.aggregates, *hidden.values()))
    scope = _scope_above(node)
    values: dict[str, Expression] = {}
    for name, tree in found.computed:
        value = bound(_above(tree, found, hidden, keys), scope, report)
        if value is None:
            return None
        values[name] = value
    having = query.args.get("having")
    if having is not None:
        condition = bound_condition(_above(having.this, found, hidden, keys), scope, report)
        if condition is None:
            return None
        node = Select(node, condition)
    kept = [(name, c) for name in found.order if name not in values and name not in KEPT for c in (node.schema[name],)]
    values.update({name: ColumnRef(c.name, c.type, c.nullable) for name, c in kept})
    columns = tuple((name, values[name]) for name in found.order if name in values)
    return Inner(projected(node, columns), tuple(found.order))


def _hidden_aggregates(
    query: exp.Select, joined: Joined, found: Grouped, report: Report
) -> dict[str, Aggregate] | None:
    """Aggregates that stand inside an expression or in HAVING, by their text."""
    hidden: dict[str, Aggregate] = {}
    having = query.args.get("having")
    for tree in [*(tree for _, tree in found.computed), *([having.this] if having is not None else [])]:
        for call in calls_in(tree):
            text = written(call)
            if text not in hidden:
                value = aggregate(qualify(call, joined.using), f"_{len(hidden) + 1}", joined.scope, report)
                if value is None:
                    return None
                hidden[text] = value
    return hidden


def _scope_above(node: Node) -> Scope:
    own = tuple(ScopeColumn(None, c.name, c.name, c.type, c.nullable) for c in node.schema.columns)
    return Scope((*own, *(ScopeColumn(None, c.name, c.name, c.type, c.nullable) for c in IMPLICIT)))


def _above(
    tree: exp.Expr, found: Grouped, hidden: dict[str, Aggregate], keys: tuple[tuple[str, Expression], ...]
) -> exp.Expr:
    """The expression over the grouped columns: aggregates and grouping expressions replaced by their names."""
    named = [name for name, _ in found.keys]
    texts = {written(key): name for key, name in zip(found.key_texts, named, strict=True)}

    def step(node: exp.Expr) -> exp.Expr:
        text = written(node)
        if text in hidden:
            return _column(hidden[text].name, node)
        if text in texts:
            return _column(texts[text], node)
        return node

    return tree.copy().transform(step, copy=False)


def _column(name: str, node: exp.Expr) -> exp.Column:
    column = exp.column(exp.to_identifier(name, quoted=True))
    spot = spot_of(node)
    for part in column.walk():
        part.meta.update({"start": spot.offset, "path": spot.path})
    return column
