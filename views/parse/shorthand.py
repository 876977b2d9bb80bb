"""The YAML shorthand (from, join, where, group_by, select) to the syntax tree of the same view in SQL, and back."""

from __future__ import annotations

from sqlglot import exp

from chronicle.definitions import ViewDefinition
from views.parse.findings import Path, Report
from views.parse.rendering import written
from views.parse.statement import read_expression

Shorthand = dict[str, str | list[str] | dict[str, str]]


def to_query(view: ViewDefinition, path: Path, report: Report) -> exp.Select:
    """`from: calls, join: {customers: caller = number}` is `FROM calls JOIN customers ON caller = number`."""
    query = exp.Select()
    table = exp.Table(this=exp.to_identifier(view.from_))
    table.meta.update({"path": (*path, "from"), "start": 0})
    query.set("from_", exp.From(this=table))
    for relation, condition in view.join.items():
        query.append("joins", _join(relation, condition, (*path, "join", relation), report))
    if view.where is not None and (where := read_expression(view.where, (*path, "where"), report)) is not None:
        query.set("where", exp.Where(this=where))
    items = [_output(name, text, (*path, "select", name), report) for name, text in view.select.items()]
    query.set("expressions", [item for item in items if item is not None])
    _group(query, view, path, report)
    query.meta["path"] = path
    return query


def _join(relation: str, condition: str, path: Path, report: Report) -> exp.Join:
    table = exp.Table(this=exp.to_identifier(relation))
    table.meta["path"] = path
    join = exp.Join(this=table, on=read_expression(condition, path, report))
    join.meta["path"] = path
    return join


def _output(name: str, text: str, path: Path, report: Report) -> exp.Expr | None:
    value = read_expression(text, path, report)
    if value is None:
        return None
    value = value.unalias()
    alias = exp.alias_(value, name, copy=False)
    alias.meta["path"] = path
    return alias


def _group(query: exp.Select, view: ViewDefinition, path: Path, report: Report) -> None:
    """A grouping column is a column of the view too, under its alias or its last part, unless `select` names it."""
    keys: list[exp.Expr] = []
    for index, text in enumerate(view.group_by):
        item = read_expression(text, (*path, "group_by", index), report)
        if item is None:
            continue
        key = item.unalias()
        if isinstance(key, exp.Literal):
            key = exp.paren(key, copy=False)
        key.meta["path"] = (*path, "group_by", index)
        keys.append(key)
        if isinstance(item, exp.Alias):
            query.append("expressions", exp.alias_(key.copy(), item.alias))
    if keys:
        query.set("group", exp.Group(expressions=keys))


def to_shorthand(query: exp.Expr) -> Shorthand | None:
    """The shorthand of a query that has one; None where only SQL can say it."""
    if not isinstance(query, exp.Select) or not _plain(query):
        return None
    source = query.args["from_"].this
    result: Shorthand = {"from": source.name}
    joins = {join.this.name: written(join.args["on"]) for join in query.args.get("joins") or ()}
    if joins:
        result["join"] = joins
    if where := query.args.get("where"):
        result["where"] = written(where.this)
    grouped = query.args.get("group")
    keys = [written(key) for key in grouped.expressions] if grouped else []
    items: dict[str, str] = {}
    for item in query.expressions:
        text = written(item.unalias())
        if grouped and text in keys and item.alias_or_name != text.rsplit(".", 1)[-1]:
            keys[keys.index(text)] = written(item)
        elif query.args.get("distinct"):
            keys.append(written(item) if item.alias_or_name != text.rsplit(".", 1)[-1] else text)
        elif text not in keys:
            items[item.alias_or_name] = text
    if keys:
        result["group_by"] = keys
    if items:
        result["select"] = items
    return result


def _plain(query: exp.Select) -> bool:
    known = {"from_", "joins", "where", "group", "expressions", "distinct"}
    if any(value for key, value in query.args.items() if key not in known):
        return False
    tables = [query.args["from_"].this, *(join.this for join in query.args.get("joins") or ())]
    simple = all(isinstance(table, exp.Table) and not table.alias for table in tables)
    joins = query.args.get("joins") or ()
    inner = all(join.args.get("on") and not join.side and not join.args.get("using") for join in joins)
    named = all(item.alias_or_name for item in query.expressions)
    return simple and inner and named and len({table.name for table in tables}) == len(tables)
