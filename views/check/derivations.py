"""Derived columns: expressions and tariffs over one finished row, each after those that it reads (§5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from chronicle.definitions import TiersDefinition, TiersDerivation, ViewDefinition
from chronicle.expressions import Expression, ExpressionError, Scope, ScopeColumn, bind, parse
from chronicle.expressions.precision import as_decimal, product_type, sum_type
from chronicle.types import MAX_PRECISION, DataType, Schema, decimal
from views.checked import Derived, Step, Tiers
from views.parse.calls import called, calls_in
from views.parse.codes import Code
from views.parse.findings import Draft, Finding, Path, Repair, Report, Spot, spot_of


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    tree: exp.Expr
    path: Path
    reads: frozenset[str]
    """The columns that it names, in small letters."""
    tiers: TiersDefinition | None = None


def derived_columns(view: ViewDefinition, schema: Schema, path: Path, report: Report) -> tuple[Derived, ...]:
    entries = {entry.name: entry for entry in _entries(view, schema, (*path, "derive"), report)}
    scope = Scope(tuple(ScopeColumn(None, c.name, c.name, c.type, c.nullable) for c in schema.columns))
    faulty = {name.casefold() for name in view.derive} - {name.casefold() for name in (*entries, *schema.names)}
    result: list[Derived] = []
    for entry in _in_order(entries, report):
        # What reads a faulty column has no fault of its own.
        value = None if entry.reads & faulty else _value(entry, scope, report)
        if value is None:
            faulty.add(entry.name.casefold())
        else:
            result.append(Derived(entry.name, value))
            column = ScopeColumn(None, entry.name, entry.name, value.type, value.nullable)
            scope = Scope((*scope.columns, column))
    return tuple(result)


def _entries(view: ViewDefinition, schema: Schema, path: Path, report: Report) -> list[_Entry]:
    taken = {name.casefold() for name in schema.names}
    found: list[_Entry] = []
    for name, given in view.derive.items():
        here: Path = (*path, name)
        if name.casefold() in taken:
            what = f"the view has a column '{name}' already"
            report.add(Code.DERIVE_COLLIDES, what, Spot(here), _renamed(name))
            continue
        taken.add(name.casefold())
        tiers = given.tiers if isinstance(given, TiersDerivation) else None
        text = given.tiers.of if isinstance(given, TiersDerivation) else given
        spot: Path = (*here, "tiers", "of") if tiers is not None else here
        try:
            tree = parse(text)
        except ExpressionError as error:
            report.put(_finding(error, name, spot))
            continue
        if call := next(iter(calls_in(tree)), None):
            what = f"the aggregate '{called(call)}' in a derived column"
            report.add(Code.DERIVE_AGGREGATES, what, Spot(spot, spot_of(call).offset), _without(name))
            continue
        reads = frozenset(column.name.casefold() for column in tree.find_all(exp.Column))
        found.append(_Entry(name, tree, spot, reads, tiers))
    return found


def _in_order(entries: dict[str, _Entry], report: Report) -> list[_Entry]:
    """Each after those that it reads; a cycle is one finding, and what depends on it is left out."""
    names = {name.casefold(): name for name in entries}
    reads = {name: [names[read] for read in sorted(entry.reads) if read in names] for name, entry in entries.items()}
    readers: dict[str, list[str]] = {name: [] for name in entries}
    for name, read in reads.items():
        for other in read:
            readers[other].append(name)
    place = {name: at for at, name in enumerate(entries)}
    missing = {name: len(read) for name, read in reads.items()}
    order: list[_Entry] = []
    ready = [name for name in entries if not missing[name]]
    while ready:
        order += [entries[name] for name in ready]
        following: list[str] = []
        for reader in (reader for name in ready for reader in readers[name]):
            missing[reader] -= 1
            if not missing[reader]:
                following.append(reader)
        ready = sorted(following, key=place.__getitem__)
    done = {entry.name for entry in order}
    waiting = [name for name in entries if name not in done]
    if waiting:
        cycle = _cycle(waiting[0], reads, done)
        what = f"the derived columns form a cycle: {' -> '.join(cycle)}"
        report.add(Code.DERIVE_CYCLE, what, Spot(entries[cycle[0]].path), _without(*cycle))
    return order


def _cycle(start: str, reads: dict[str, list[str]], done: set[str]) -> list[str]:
    seen: list[str] = []
    here = start
    while here not in seen:
        seen.append(here)
        here = next(other for other in reads[here] if other not in done)
    return [*seen[seen.index(here) :], here]


def _value(entry: _Entry, scope: Scope, report: Report) -> Expression | Tiers | None:
    try:
        value = bind(entry.tree, scope)
    except ExpressionError as error:
        report.put(_finding(error, entry.name, entry.path))
        return None
    return value if entry.tiers is None else _tiers(entry, entry.tiers, value, report)


def _tiers(entry: _Entry, tiers: TiersDefinition, of: Expression, report: Report) -> Tiers | None:
    if not of.type.is_numeric:
        what = f"the tariff is on '{tiers.of}', which is a {of.type}"
        report.add(Code.TIERS_NOT_A_NUMBER, what, Spot(entry.path), _without(entry.name))
        return None
    for place, (before, step) in enumerate(zip(tiers.steps, tiers.steps[1:], strict=False), 1):
        if step.above <= before.above:
            spot = Spot((*entry.path[:-1], "steps", place, "above"))
            what = f"the step above {step.above} comes after the one above {before.above}"
            report.add(Code.TIERS_OUT_OF_ORDER, what, spot, _sorted(entry.name))
            return None
    steps = tuple(Step(step.above, step.rate) for step in tiers.steps)
    try:
        type_ = _tiers_type(of.type, steps)
    except ValueError as error:
        report.add(Code.TIERS_NOT_A_NUMBER, f"the tariff: {error}", Spot(entry.path), _without(entry.name))
        return None
    return Tiers(of, tiers.mode, steps, type_, of.nullable)


def _tiers_type(of: DataType, steps: tuple[Step, ...]) -> DataType:
    """Nothing is rounded: a rate's digits come after those of the amount."""
    if not of.is_exact:
        return of
    amount = as_decimal(of)
    for step in steps:
        amount = sum_type(amount, _type_of(step.above))
    rates = [_type_of(step.rate) for step in steps]
    scale = max(rate.scale for rate in rates)
    whole = max(rate.precision - rate.scale for rate in rates)
    return product_type(amount, decimal(min(MAX_PRECISION, max(1, whole + scale)), scale))


def _type_of(number: Decimal) -> DataType:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    digits = max(len(number.as_tuple().digits) + max(0, exponent), scale, 1)
    return decimal(min(digits, MAX_PRECISION), min(scale, MAX_PRECISION))


def _finding(error: ExpressionError, name: str, path: Path) -> Finding:
    better = error.fix.removeprefix("write ") if error.fix.startswith("write ") else ""

    def repair(draft: Draft) -> None:
        text = _text(draft, name)
        if better and error.offset is not None and text is not None:
            end = error.offset
            while end < len(text) and (text[end].isalnum() or text[end] in "_."):
                end += 1
            _set_text(draft, name, text[: error.offset] + better + text[end:])
        else:
            draft.derive.pop(name, None)

    return Finding(error.code, error.what, error.why, Spot(path, error.offset), "", repair)


def _text(draft: Draft, name: str) -> str | None:
    value: Any = draft.derive.get(name)
    text: str | None = value["tiers"]["of"] if isinstance(value, dict) else value
    return text


def _set_text(draft: Draft, name: str, text: str) -> None:
    value: Any = draft.derive[name]
    if isinstance(value, dict):
        value["tiers"]["of"] = text
    else:
        draft.derive[name] = text


def _without(*names: str) -> Repair:
    def repair(draft: Draft) -> None:
        for name in names:
            draft.derive.pop(name, None)

    return repair


def _renamed(name: str) -> Repair:
    def repair(draft: Draft) -> None:
        if name in draft.derive:
            draft.derive[f"{name}_2"] = draft.derive.pop(name)

    return repair


def _sorted(name: str) -> Repair:
    def repair(draft: Draft) -> None:
        value: Any = draft.derive.get(name)
        steps = {step["above"]: step for step in value["tiers"]["steps"]}
        value["tiers"]["steps"] = [steps[above] for above in sorted(steps)]

    return repair
