"""Which chronicles of a FROM are joined on the sequence number, and the refusals where they are not (Theorem 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from views.parse.binding import REFUSED
from views.parse.codes import Code
from views.parse.findings import Repair, Report, spot_of
from views.parse.sources import From, Source

SN = "sn"


def without_sn_equalities(
    clause: From, conditions: Sequence[exp.Expr], report: Report, split: Repair
) -> list[exp.Expr] | None:
    """The conditions that are left when the chronicles are joined on sn; None after a refusal."""
    chronicles = [source for source in clause.sources if source.node is not None]
    group = {source.alias.casefold(): source.alias.casefold() for source in chronicles}
    left: list[exp.Expr] = []
    refused = False
    for condition in conditions:
        pair = _equal_sn(condition, group)
        if pair is not None:
            _unite(group, *pair)
        elif len(_sn_of(condition, group)) > 1:
            condition.meta[REFUSED] = True
            what = "the sequence numbers of two chronicles are compared otherwise than by ="
            report.add(Code.INEQUALITY_ON_SN, what, spot_of(condition), split)
            refused = True
        else:
            left.append(condition)
    if refused:
        return None
    if len(set(group.values())) > 1:
        _refuse_product(chronicles, group, left, report, split)
        return None
    return left


def _refuse_product(
    chronicles: list[Source], group: dict[str, str], conditions: list[exp.Expr], report: Report, split: Repair
) -> None:
    first = chronicles[0]
    other = next(source for source in chronicles if group[source.alias.casefold()] != group[first.alias.casefold()])
    joining = next((condition for condition in conditions if _touches(condition, first, other)), None)
    if joining is None:
        what = f"'{first.alias}' and '{other.alias}' are chronicles, and nothing joins them: every pair of their tuples"
        report.add(Code.PRODUCT, what, spot_of(other.table), split)
    else:
        what = f"'{first.alias}' and '{other.alias}' are chronicles, and are joined otherwise than on sn"
        report.add(Code.JOIN_NOT_ON_SN, what, spot_of(joining), split)


def _touches(condition: exp.Expr, first: Source, other: Source) -> bool:
    named = [owners(column, [first, other]) for column in condition.find_all(exp.Column)]
    return any(first in found for found in named) and any(other in found for found in named)


def owners(column: exp.Column, sources: Sequence[Source]) -> list[Source]:
    """The sources that a column may belong to, as far as its name tells."""
    qualifier, name = column.table.casefold(), column.name.casefold()
    return [
        source
        for source in sources
        if qualifier in ("", source.alias.casefold()) and name in (known.casefold() for known in source.names)
    ]


def _equal_sn(condition: exp.Expr, group: dict[str, str]) -> tuple[str, str] | None:
    if not isinstance(condition, exp.EQ):
        return None
    left, right = condition.left.unnest(), condition.right.unnest()
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    aliases = left.table.casefold(), right.table.casefold()
    named = left.name.casefold() == right.name.casefold() == SN
    return aliases if named and aliases[0] in group and aliases[1] in group else None


def _sn_of(condition: exp.Expr, group: dict[str, str]) -> set[str]:
    columns = condition.find_all(exp.Column)
    return {c.table.casefold() for c in columns if c.name.casefold() == SN and c.table.casefold() in group}


def _unite(group: dict[str, str], first: str, second: str) -> None:
    kept, merged = group[first], group[second]
    for alias, name in group.items():
        if name == merged:
            group[alias] = kept
