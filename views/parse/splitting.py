"""Fixes that are several views: one for each chronicle of a product, one for each part of a union."""

from __future__ import annotations

from sqlglot import exp

from views.parse.binding import conditions_of
from views.parse.calls import has_call
from views.parse.findings import Draft, Repair
from views.parse.sequencing import owners
from views.parse.sources import From, Source


def split_by_part(query: exp.SetOperation) -> Repair:
    """Each SELECT of an outermost UNION as a view of its own."""

    def repair(draft: Draft) -> None:
        selects = _parts(query)
        common = query.args.get("with_")
        for select in selects:
            if common is not None:
                select.set("with_", common.copy())
            if not select.args.get("group") and not any(has_call(item) for item in select.expressions):
                select.set("distinct", exp.Distinct())
        draft.instead = {f"{draft.name}_{number}": select for number, select in enumerate(selects, 1)}

    return repair


def _parts(query: exp.Expr) -> list[exp.Select]:
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.left), *_parts(query.right)]
    inner = query.unnest()
    return [inner.copy()] if isinstance(inner, exp.Select) else []


def split_by_chronicle(query: exp.Select, clause: From) -> Repair:
    """A view for each chronicle of a join that is not on sn, with what of the query is about that chronicle alone."""

    def repair(draft: Draft) -> None:
        if query is not draft.query:
            return
        sources = [source for source in clause.sources if source.node is not None]
        views = {f"{draft.name}_{source.alias}": _about(query, clause, source) for source in sources}
        draft.instead = {name: view for name, view in views.items() if view is not None}

    return repair


def _about(query: exp.Select, clause: From, source: Source) -> exp.Select | None:
    if not isinstance(source.table, exp.Table):
        return None
    where = query.args.get("where")
    conditions = [*clause.conditions, *conditions_of(where.this if where is not None else None)]
    equal = _equalities(conditions, clause, source)
    result = exp.Select(from_=exp.From(this=source.table.copy()))
    keys: list[exp.Expr] = []
    group = query.args.get("group")
    for key in group.expressions if group is not None else ():
        own = _own(key, clause, source, equal)
        if own is not None:
            keys.append(own)
            result.append("expressions", own.copy() if own.name == key.name else exp.alias_(own.copy(), key.name))
    for item in query.expressions:
        if has_call(item) and _own(item, clause, source, {}) is not None:
            result.append("expressions", item.copy())
    if not any(has_call(item) for item in result.expressions):
        result.append("expressions", exp.alias_(exp.Count(this=exp.Star()), "n"))
    if keys:
        result.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    own_conditions = [part.copy() for part in conditions if part.find(exp.Column) and _own(part, clause, source, {})]
    if own_conditions:
        result.set("where", exp.Where(this=exp.and_(*own_conditions)))
    return result


def _own(node: exp.Expr, clause: From, source: Source, equal: dict[str, exp.Expr]) -> exp.Expr | None:
    """The node, if it is about this source alone; or the column of this source that the query says is equal to it."""
    columns = list(node.find_all(exp.Column))
    if all(owners(column, clause.sources) == [source] for column in columns):
        return node
    return equal.get(node.name.casefold()) if isinstance(node, exp.Column) else None


def _equalities(conditions: list[exp.Expr], clause: From, source: Source) -> dict[str, exp.Expr]:
    """For a column of another source, by name, the column of this one that it equals."""
    found: dict[str, exp.Expr] = {}
    for part in conditions:
        if isinstance(part, exp.EQ) and isinstance(part.left, exp.Column) and isinstance(part.right, exp.Column):
            for own, other in ((part.left, part.right), (part.right, part.left)):
                if owners(own, clause.sources) == [source]:
                    found[other.name.casefold()] = own
    return found
