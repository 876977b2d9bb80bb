"""A fix for a refused view, as YAML to paste in its place under `views:`; it is checked before it is shown.

All repairs of the findings are made together. Where their result is not admitted, parts are left out, and at last the
simplest view of the same chronicle stands for the shape of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import yaml
from sqlglot import exp

from chronicle.definitions import TiersDerivation, ViewDefinition
from chronicle.types import STRING
from views.parse import Catalog, Draft, Finding
from views.parse.rendering import written_query
from views.parse.shorthand import to_shorthand

Plain = dict[str, Any]
IsAdmitted = Callable[[str, ViewDefinition], bool]


def fix_for(
    name: str,
    view: ViewDefinition,
    query: exp.Expr | None,
    findings: list[Finding],
    catalog: Catalog,
    is_admitted: IsAdmitted,
) -> str:
    """The YAML of the view (or views) that may take its place; empty where nothing can be proposed."""
    draft = Draft(name, query, _period(view), _derive(view))
    for finding in findings:
        if finding.repair is not None:
            finding.repair(draft)
    for candidate in _candidates(draft, view, catalog):
        if candidate and all(_admits(each, plain, is_admitted) for each, plain in candidate.items()):
            return _yaml(candidate)
    return ""


def _candidates(draft: Draft, view: ViewDefinition, catalog: Catalog) -> Iterator[dict[str, Plain]]:
    if draft.instead:
        yield {name: _plain(query, False, draft.period, {}) for name, query in draft.instead.items()}
        yield {name: _plain(query, False, None, {}) for name, query in draft.instead.items()}
    if draft.query is not None:
        short = view.sql is None
        yield {draft.name: _plain(draft.query, short, draft.period, draft.derive)}
        if draft.derive:
            yield {draft.name: _plain(draft.query, short, draft.period, {})}
        if draft.period is not None:
            yield {draft.name: _plain(draft.query, short, None, draft.derive)}
    shape = _shape(draft, catalog)
    yield {draft.name: _plain(shape, view.sql is None, draft.period, {})}
    yield {draft.name: _plain(shape, view.sql is None, None, {})}


def _shape(draft: Draft, catalog: Catalog) -> exp.Select:
    tables = draft.query.find_all(exp.Table) if draft.query is not None else ()
    named = (catalog.chronicle(table.name) for table in tables)
    chronicle = next((name for name in named if name is not None), next(iter(catalog.chronicles)))
    columns = catalog.chronicles[chronicle].columns
    key = next((column.name for column in columns if column.type == STRING), columns[0].name)
    return exp.select(key, "count(*) AS n").from_(chronicle).group_by(key)


def _admits(name: str, plain: Plain, is_admitted: IsAdmitted) -> bool:
    try:
        view = ViewDefinition.model_validate(_frozen(plain))
    except ValueError:
        return False
    return is_admitted(name, view)


def _frozen(value: Any) -> Any:
    match value:
        case dict():
            return {key: _frozen(item) for key, item in value.items()}
        case list():
            return tuple(_frozen(item) for item in value)
        case _:
            return value


def _plain(query: exp.Expr, short: bool, period: Plain | None, derive: Plain) -> Plain:
    shorthand = to_shorthand(query) if short else None
    result: Plain = dict(shorthand) if shorthand is not None else {"sql": written_query(query)}
    if period is not None:
        result["period"] = period
    if derive:
        result["derive"] = derive
    return result


def _period(view: ViewDefinition) -> Plain | None:
    period = view.period
    if period is None:
        return None
    given: Plain = {"calendar": period.calendar}
    if not period.grace.is_zero:
        given["grace"] = str(period.grace)
    if period.expire_after is not None:
        given["expire_after"] = str(period.expire_after)
    if period.late != "reject":
        given["late"] = period.late
    return given


def _derive(view: ViewDefinition) -> Plain:
    def one(value: str | TiersDerivation) -> Any:
        if isinstance(value, str):
            return value
        tiers = value.tiers
        steps = [{"above": step.above, "rate": step.rate} for step in tiers.steps]
        return {"tiers": {"of": tiers.of, "mode": tiers.mode, "steps": steps}}

    return {name: one(value) for name, value in view.derive.items()}


class _Dumper(yaml.SafeDumper):
    """Queries of several lines as blocks, small mappings on one line, exact numbers as they are."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _number(dumper: yaml.SafeDumper, number: Decimal) -> yaml.ScalarNode:
    kind = "int" if number == number.to_integral_value() and "." not in str(number) else "float"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", f"{number:f}")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Decimal, _number)


def _yaml(views: dict[str, Plain]) -> str:
    text = yaml.dump(views, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=None)
    return str(text).rstrip("\n")
