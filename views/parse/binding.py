"""Expressions of a query, bound to the columns in scope; what is wrong with one becomes a finding with a repair."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from chronicle.expressions import Expression, ExpressionCode, ExpressionError, Scope, bind
from chronicle.types import BOOL
from views.parse.codes import Code
from views.parse.edits import drop, dropping, rewrite_column
from views.parse.findings import Draft, Finding, Report, Spot, spot_of

REFUSED = "refused"
"""Marks a node of the syntax tree about which there is a finding already: nothing more is said of it."""


def refuse(report: Report, code: Code, what: str, node: exp.Expr) -> None:
    """A finding about a part of an expression, whose repair leaves out the condition or the column that holds it."""
    node.meta[REFUSED] = True
    report.add(code, what, spot_of(node), dropping(node))


def is_refused(node: exp.Expr) -> bool:
    return any(part.meta.get(REFUSED) for part in node.walk())


def bound(node: exp.Expr, scope: Scope, report: Report) -> Expression | None:
    """The typed expression; None after a finding."""
    if report.findings and is_refused(node):
        return None
    try:
        return bind(node, scope)
    except ExpressionError as error:
        report.put(_finding(error, node, scope))
        return None


def bound_condition(node: exp.Expr, scope: Scope, report: Report) -> Expression | None:
    condition = bound(node, scope, report)
    if condition is not None and condition.type != BOOL:
        what = f"a condition was expected, and this is of type {condition.type}"
        report.add(Code.NOT_A_CONDITION, what, spot_of(node), dropping(node))
        return None
    return condition


def conditions_of(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The parts of a condition that must all hold."""
    if node is None:
        return
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from conditions_of(inner.left)
        yield from conditions_of(inner.right)
    else:
        yield inner


def _finding(error: ExpressionError, node: exp.Expr, scope: Scope) -> Finding:
    where = spot_of(node)
    spot = Spot(where.path, where.offset if error.offset is None else error.offset)
    at_fault = next((part for part in node.find_all(exp.Column) if spot_of(part).offset == spot.offset), None)
    better = error.fix.removeprefix("write ") if error.fix.startswith("write ") else ""
    if at_fault is not None and error.code == ExpressionCode.AMBIGUOUS_COLUMN:
        better = _fitting(at_fault, node, scope) or better

    def repair(draft: Draft) -> None:
        if at_fault is not None and better.replace(".", "").replace("_", "").isalnum():
            rewrite_column(at_fault, better)
        else:
            drop(node)

    return Finding(error.code, error.what, error.why or "", spot, "", repair)


def _fitting(ambiguous: exp.Column, node: exp.Expr, scope: Scope) -> str | None:
    """The first of the columns of this name with which the expression is one."""
    place = list(node.find_all(exp.Column)).index(ambiguous)
    for candidate in sorted({str(c) for c in scope.columns if c.name.casefold() == ambiguous.name.casefold()}):
        draft = node.copy()
        rewrite_column(list(draft.find_all(exp.Column))[place], candidate)
        try:
            bind(draft, scope)
        except ExpressionError:
            continue
        return candidate
    return None
