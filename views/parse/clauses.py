"""Clauses of a query that the algebra does not have: they belong to the reader of the view, or to no view at all."""

from __future__ import annotations

from sqlglot import exp

from views.parse.codes import Code
from views.parse.findings import Draft, Repair, Report, spot_of

_ADMITTED = frozenset({"with_", "from_", "joins", "where", "group", "having", "expressions", "distinct"})
_SET_OPERATION = frozenset({"with_", "this", "expression", "distinct"})
_BY_CLAUSE = {
    "order": (Code.ORDER_BY, "ORDER BY"),
    "sort": (Code.ORDER_BY, "SORT BY"),
    "cluster": (Code.ORDER_BY, "CLUSTER BY"),
    "limit": (Code.LIMIT, "LIMIT"),
    "offset": (Code.LIMIT, "OFFSET"),
    "qualify": (Code.QUALIFY, "QUALIFY"),
}


_READ: dict[type[exp.Expr], frozenset[str]] = {
    exp.Table: frozenset({"this", "alias", "db", "catalog", "version", "when", "sample"}),
    exp.Subquery: frozenset({"this", "alias", "with_", "sample"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Star: frozenset(),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method", "match_condition"}),
}
"""What of a table, a star or a join has a meaning here; the parser knows more, which must not be passed over."""

_PARTS = {"except_": "* EXCLUDE", "replace": "* REPLACE", "rename": "* RENAME", "ilike": "* ILIKE", "pivots": "PIVOT"}


def refuse_parts(node: exp.Expr, report: Report) -> None:
    read = _READ.get(type(node))
    if read is None:
        return
    for name, value in node.args.items():
        if not value or name in read:
            continue
        code, shown = _BY_CLAUSE.get(name, (Code.UNSUPPORTED, _PARTS.get(name) or name.strip("_").upper()))
        what = f"{shown} in a view"
        if isinstance(node, exp.TableAlias):
            what = f"a list of columns after '{node.name}'"
        elif name == "joins":
            what = "a join inside a join"
        part = value[0] if isinstance(value, list) else value
        report.add(code, what, spot_of(part if isinstance(part, exp.Expr) else node), _without(node, name))


def refuse_clauses(query: exp.Select | exp.SetOperation, report: Report, *, outermost: bool) -> None:
    admitted = _ADMITTED if isinstance(query, exp.Select) else _SET_OPERATION
    for name, value in query.args.items():
        if not value or name in admitted:
            continue
        code, shown = _BY_CLAUSE.get(name, (Code.UNSUPPORTED, name.strip("_").replace("_", " ").upper()))
        part = value[0] if isinstance(value, list) else value
        what = f"FETCH, which is a {shown}" if isinstance(part, exp.Fetch) else f"{shown} in a view"
        spot = spot_of(part if isinstance(part, exp.Expr) else query)
        report.add(code, what, spot, _without(query, name))
    if isinstance(query, exp.Select):
        _having(query, report, outermost)
        _distinct_on(query, report)


def _having(query: exp.Select, report: Report, outermost: bool) -> None:
    having = query.args.get("having")
    if having is not None and outermost:
        report.add(Code.HAVING, "HAVING in the outermost step", spot_of(having), _without(query, "having"))


def _distinct_on(query: exp.Select, report: Report) -> None:
    distinct = query.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):

        def repair(draft: Draft) -> None:
            query.set("distinct", exp.Distinct())

        report.add(Code.UNSUPPORTED, "DISTINCT ON", spot_of(distinct), repair)


def _without(query: exp.Expr, clause: str) -> Repair:
    def repair(draft: Draft) -> None:
        query.set(clause, None)

    return repair
