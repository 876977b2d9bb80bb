"""A view in YAML or SQL to the algebra; what is wrong is collected in a Report, never raised.

statement: text to syntax tree; shorthand: YAML to the same; screening, sources, joining, grouping: the tree to algebra.
"""

from __future__ import annotations

from sqlglot import exp

from chronicle.definitions import ViewDefinition
from views.algebra import Summary
from views.parse.catalog import Catalog
from views.parse.findings import Draft, Finding, Path, Report, Spot
from views.parse.queries import build
from views.parse.shorthand import to_query
from views.parse.statement import read

__all__ = ["Catalog", "Draft", "Finding", "Report", "Spot", "parse_view", "syntax"]


def syntax(view: ViewDefinition, path: Path, report: Report) -> exp.Expr | None:
    """The syntax tree of either form."""
    if view.sql is not None:
        return read(view.sql, (*path, "sql"), report)
    return to_query(view, path, report)


def parse_view(query: exp.Expr, catalog: Catalog, report: Report) -> Summary | None:
    """The algebra of a syntax tree, as it is written; None after a finding."""
    return build(query, catalog, report)
