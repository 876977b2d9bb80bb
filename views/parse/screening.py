"""One pass over the whole syntax tree for what no part of a view may have: windows, sub-queries in expressions, clock,
chance. What it refuses is marked, so that binding says nothing more of it."""

from __future__ import annotations

from sqlglot import exp

from views.aggregates import AGGREGATES
from views.parse.binding import REFUSED, refuse
from views.parse.calls import CALLED, called, has_call
from views.parse.catalog import Catalog
from views.parse.clauses import refuse_parts
from views.parse.codes import Code
from views.parse.edits import drop, group_by_plain_columns
from views.parse.findings import Draft, Repair, Report, spot_of
from views.parse.rendering import written

_CLOCK_NODES = (
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.CurrentTime,
    exp.Localtimestamp,
    exp.Localtime,
    exp.CurrentDatetime,
)
_CLOCK = frozenset(
    [
        "now",
        "today",
        "getdate",
        "sysdate",
        "systimestamp",
        "clock_timestamp",
        "statement_timestamp",
        "transaction_timestamp",
        "unix_timestamp",
        "utc_date",
        "utc_time",
        "utc_timestamp",
        "curdate",
        "curtime",
        "current_date",
        "current_timestamp",
        "current_time",
        "localtime",
        "localtimestamp",
    ]
)
_CHANCE = frozenset(
    [
        "random",
        "rand",
        "randn",
        "uuid",
        "gen_random_uuid",
        "newid",
        "generate_uuid",
        "uuid_string",
        "rand_cauchy",
        "setseed",
        "random_bytes",
    ]
)


_ORDINARY = frozenset(
    [
        exp.Identifier,
        exp.Column,
        exp.Literal,
        exp.Star,
        exp.Alias,
        exp.TableAlias,
        exp.Table,
        exp.From,
        exp.Join,
        exp.Where,
        exp.Group,
        exp.Paren,
        exp.Not,
        exp.And,
        exp.Or,
        exp.EQ,
        exp.NEQ,
        exp.LT,
        exp.LTE,
        exp.GT,
        exp.GTE,
    ]
)
"""Most nodes of most views: they have nothing else to look for in themselves."""


def screen(tree: exp.Expr, catalog: Catalog, report: Report) -> None:
    for node in tree.walk(prune=lambda node: bool(node.meta.get(REFUSED))):
        refuse_parts(node, report)
        if type(node) in _ORDINARY:
            continue
        if isinstance(node, exp.Window):
            _window(node, report)
        elif isinstance(node, exp.Query | exp.Exists) and _in_expression(node):
            _subquery(node, catalog, report)
        elif isinstance(node, exp.TableSample):
            node.meta[REFUSED] = True
            report.add(Code.CHANCE, "a random sample of the tuples", spot_of(node.parent or node), _pop(node))
        elif isinstance(node, _CLOCK_NODES) or (isinstance(node, exp.Func) and called(node) in _CLOCK):
            refuse(report, Code.CLOCK, f"'{_shown(node)}' depends on when it is asked", node)
        elif isinstance(node, exp.Rand | exp.Uuid) or (isinstance(node, exp.Func) and called(node) in _CHANCE):
            refuse(report, Code.CHANCE, f"'{_shown(node)}' depends on chance", node)


def _shown(node: exp.Expr) -> str:
    named = isinstance(node, exp.Anonymous) or CALLED in node.meta
    return f"{called(node)}()" if named else written(node)[:60]


def _pop(node: exp.Expr) -> Repair:
    def repair(draft: Draft) -> None:
        node.pop()

    return repair


def _window(node: exp.Window, report: Report) -> None:
    node.meta[REFUSED] = True
    function = called(node.this.this if isinstance(node.this, exp.Filter) else node.this)
    partition = [part.copy() for part in node.args.get("partition_by") or ()]

    def repair(draft: Draft) -> None:
        query = node.find_ancestor(exp.Select)
        call = node.this if function in AGGREGATES else exp.Count(this=exp.Star())
        node.replace(call.copy() if isinstance(node.parent, exp.Alias) else exp.alias_(call.copy(), function))
        if query is not None:
            names = {written(item.unalias()) for item in query.expressions}
            for part in partition:
                if written(part) not in names:
                    query.append("expressions", part)
            query.set("windows", None)
            group_by_plain_columns(query, has_call)

    report.add(Code.WINDOW, f"'{function}' OVER a window of tuples", spot_of(node), repair)


def _in_expression(node: exp.Expr) -> bool:
    """Whether a query stands where a value is expected, not where a table is."""
    parent = node.parent
    while isinstance(parent, exp.Subquery | exp.Paren):
        node, parent = parent, parent.parent
    return parent is not None and not isinstance(parent, exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Table)


def _subquery(node: exp.Expr, catalog: Catalog, report: Report) -> None:
    holder: exp.Expr = node
    while isinstance(holder.parent, exp.Subquery | exp.Paren):
        holder = holder.parent
    if isinstance(holder.parent, exp.In | exp.Exists | exp.Any | exp.All):
        holder = holder.parent
    member = isinstance(holder, exp.In | exp.Exists)
    for part in node.walk():
        part.meta[REFUSED] = True
    holder.meta[REFUSED] = True

    def repair(draft: Draft) -> None:
        if not (isinstance(holder, exp.In) and _as_join(holder, catalog)):
            drop(holder)

    code = Code.IN_SUBQUERY if member else Code.SUBQUERY
    what = (
        f"{'EXISTS' if isinstance(holder, exp.Exists) else 'IN'} with a sub-query"
        if member
        else "a sub-query as a value"
    )
    report.add(code, what, spot_of(holder), repair)


def _as_join(membership: exp.In, catalog: Catalog) -> bool:
    """`x IN (SELECT key FROM relation WHERE ...)` is a join on the key; False where it is something else."""
    inner = membership.args["query"].unnest() if membership.args.get("query") else None
    query = membership.find_ancestor(exp.Select)
    if not isinstance(inner, exp.Select) or query is None or len(inner.expressions) != 1 or inner.args.get("joins"):
        return False
    table, column = inner.args["from_"].this if inner.args.get("from_") else None, inner.expressions[0]
    relation = catalog.relation(table.name) if isinstance(table, exp.Table) else None
    if relation is None or not isinstance(column, exp.Column) or catalog.relations[relation].key != (column.name,):
        return False
    columns = {name.casefold() for name in catalog.relations[relation].columns.names}
    where = inner.args["where"].this.copy() if inner.args.get("where") else None
    for reference in where.find_all(exp.Column) if where is not None else ():
        if reference.name.casefold() in columns:
            reference.set("table", exp.to_identifier(relation))
    on = exp.EQ(this=membership.this.copy(), expression=exp.column(column.name, relation))
    drop(membership)
    query.append("joins", exp.Join(this=exp.to_table(relation), on=on))
    if where is not None:
        query.where(where, copy=False)
    return True
