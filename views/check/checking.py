"""One view through all stages: syntax, algebra, push-down, class, period, derived columns; every finding is kept."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from chronicle.definitions import Definition, Loaded, ViewDefinition
from chronicle.definitions.document import Mapping
from chronicle.errors import Fault
from views.check.classes import classify, is_admitted
from views.check.derivations import derived_columns
from views.check.fixes import fix_for
from views.check.periods import period_rule
from views.check.pruning import prune
from views.check.pushdown import push_down
from views.check.verdict import Verdict, ViewVerdict
from views.checked import CheckedView
from views.parse import Catalog, Finding, Report, Spot, parse_view, syntax
from views.parse.codes import Code
from views.parse.findings import Path


def check(loaded: Loaded) -> Verdict:
    """The verdict on every view of a definition. Never raises: what is wrong is in it."""
    views = {name: ViewVerdict(name) for name in _names(loaded)}
    if loaded.definition is not None:
        checker = _Checker(loaded, loaded.definition, Catalog.of(loaded.definition))
        views.update({name: checker.verdict(name, view) for name, view in loaded.definition.views.items()})
    views.update({name: ViewVerdict(name, refusals=faults) for name, faults in loaded.view_faults.items()})
    return Verdict(views, loaded.faults)


def _names(loaded: Loaded) -> list[str]:
    """In the order of the file."""
    section = loaded.root.entries.get("views") if loaded.root is not None else None
    return list(section.value.entries) if section is not None and isinstance(section.value, Mapping) else []


def _by_place(fault: Fault) -> tuple[int, int]:
    return (fault.place.line, fault.place.column) if fault.place is not None else (0, 0)


@dataclass(frozen=True, slots=True)
class _Checker:
    loaded: Loaded
    definition: Definition
    catalog: Catalog

    def verdict(self, name: str, view: ViewDefinition) -> ViewVerdict:
        report = Report()
        query = syntax(view, ("views", name), report)
        checked = self.checked(name, view, query, report)
        if checked is not None:
            return ViewVerdict(name, checked.cls, checked.bound, (), checked)
        fix = fix_for(name, view, query, report.findings, self.catalog, self.is_admitted)
        faults = [self.fault(finding, fix) for finding in report.findings]
        if report.unsaid:
            faults.append(Fault("CH203", f"and {report.unsaid} more faults, not listed", place=faults[-1].place))
        return ViewVerdict(name, refusals=tuple(sorted(faults, key=_by_place)))

    def is_admitted(self, name: str, view: ViewDefinition) -> bool:
        report = Report()
        return self.checked(name, view, syntax(view, ("views", name), report), report) is not None

    def checked(self, name: str, view: ViewDefinition, query: exp.Expr | None, report: Report) -> CheckedView | None:
        path: Path = ("views", name)
        if query is None:
            return None
        written = parse_view(query, self.catalog, report)
        if written is None:
            return None
        summary = prune(push_down(written))
        cls, bound = classify(summary)
        if not is_admitted(cls, self.definition.admit):
            what = f"the view is in {cls}, and the file says `admit: {self.definition.admit}`"
            report.add(Code.NOT_ADMITTED, what, Spot(path))
        period = None
        if view.period is not None:
            calendars = self.loaded.calendars
            period = period_rule(view.period, summary, self.definition, calendars, (*path, "period"), report)
        derived = derived_columns(view, summary.schema, path, report)
        return None if report.findings else CheckedView(name, summary, cls, bound, period, derived)

    def fault(self, finding: Finding, fix: str) -> Fault:
        remark = f"# {finding.remark}\n" if finding.remark and fix else ""
        place = self.loaded.place(finding.spot.path, finding.spot.offset)
        return Fault(finding.code, finding.what, finding.why, f"{remark}{fix}", place)
