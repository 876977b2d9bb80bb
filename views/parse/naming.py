"""Names of the columns that a query gives."""

from __future__ import annotations

import re

from sqlglot import exp

from views.parse.codes import Code
from views.parse.findings import Draft, Report, spot_of
from views.parse.rendering import written

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
IMPLICIT = ("sn", "chronon", "pos")


def output_name(item: exp.Expr, report: Report) -> str | None:
    """The alias, or a column's own last part; None after a finding."""
    name = item.alias if isinstance(item, exp.Alias) else item.name if isinstance(item, exp.Column) else ""
    if _NAME.fullmatch(name) and not (isinstance(item, exp.Alias) and name.casefold() in IMPLICIT):
        return name
    if name:
        rule = "that is an implicit one" if name.casefold() in IMPLICIT else "names have a-z, 0-9 and _, first a letter"
        what = f"a column cannot be called '{name[:40]}': {rule}"
        better = re.sub(r"\W+", "_", name).strip("_0123456789") or "value"
    else:
        what = f"'{written(item)[:80]}' has no name"
        better = _suggested(item)
    better = f"{better}_" if better.casefold() in IMPLICIT else better

    def repair(draft: Draft) -> None:
        item.replace(exp.alias_(item.unalias().copy(), better))

    report.add(Code.NO_NAME, what, spot_of(item), repair)
    return None


def _suggested(item: exp.Expr) -> str:
    column = item.find(exp.Column)
    words = [item.this.key if isinstance(item, exp.Filter) else item.key, column.name if column is not None else ""]
    return re.sub(r"\W+", "_", "_".join(word for word in words if word and word != "*")).strip("_") or "value"
