"""CheckedView → Plan: the SQL and the rules by which the kernels keep a view, and all views of a group together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from calendars import Duration
from chronicle.appends import Group, group_of
from chronicle.appends.topics import relation_topic
from chronicle.definitions import Definition
from chronicle.expressions import to_duckdb
from chronicle.types import DataType
from views.algebra import Chronicle
from views.algebra.traversal import nodes
from views.checked import CheckedView, PeriodRule
from views.plan.algebra_sql import AlgebraCompiler, is_compound, partial_columns
from views.plan.steps import END, START, Finish, Step, quoted
from views.state import RelationLayout, ViewLayout, layout_of


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """A view with a calendar per key: its tuples are laid down in `table` with the values that bind the relation's key
    (`@key0`, ...), so that each can be given the period of its own calendar before they are grouped."""

    table: str
    relation: str
    key: tuple[str, ...]
    key_types: tuple[DataType, ...]
    anchor: str | None
    zone: str | None


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """How the map makes a view's partials: run the steps, then `partial_sql`, one row per group and period.

    `rows_sql` are the tuples that the summarisation takes in. `rule` is the period rule's place in the group's, for a
    calendar that all keys share. An epoch without tuples of any of `chronicles` leaves the view as it is.
    """

    name: str
    chronicles: frozenset[str]
    layout: ViewLayout
    steps: tuple[Step, ...]
    rows_sql: str
    partial_sql: str
    period: PeriodRule | None
    rule: int | None
    keyed: KeyedRows | None

    @property
    def relations(self) -> frozenset[str]:
        """The relations that decide the view's rows."""
        joined = {step.relation for step in self.steps if not isinstance(step, Finish)}
        return frozenset(joined | ({self.keyed.relation} if self.keyed else set()))

    @property
    def key_columns(self) -> tuple[str, ...]:
        return tuple(group_column(place) for place in range(len(self.layout.keys)))


@dataclass(frozen=True, slots=True)
class RelationPlan:
    layout: RelationLayout
    retroactive: Literal["reject", "clamp", "correct"]


@dataclass(frozen=True, slots=True)
class OwnTopic:
    """A topic that a relation has to itself: each message is one of its changes."""

    relation: str
    debezium: bool


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """All views of a chronicle group: one pass over the appends serves them all."""

    group: Group
    max_skew: Duration
    relations: Mapping[str, RelationPlan]
    rules: tuple[PeriodRule, ...]
    views: tuple[ViewPlan, ...]
    own_topics: Mapping[str, OwnTopic] = field(default_factory=dict)

    @property
    def view_layouts(self) -> tuple[ViewLayout, ...]:
        return tuple(view.layout for view in self.views)

    @property
    def relation_layouts(self) -> tuple[RelationLayout, ...]:
        return tuple(relation.layout for relation in self.relations.values())


def group_column(place: int) -> str:
    return f"@group{place}"


def rule_column(place: int) -> str:
    """The column of the base tables that holds the start of a tuple's period by a shared rule."""
    return f"@start{place}"


def plan_group(definition: Definition, views: Iterable[CheckedView]) -> GroupPlan:
    """Compiles every admitted view of a definition."""
    rules: list[PeriodRule] = []
    plans: list[ViewPlan] = []
    for view in views:
        place = None
        if view.period is not None and view.period.keyed_by is None:
            if view.period not in rules:
                rules.append(view.period)
            place = rules.index(view.period)
        plans.append(plan_view(view, place))
    relations = {
        name: RelationPlan(RelationLayout(name, relation.columns.columns, tuple(relation.key)), relation.retroactive)
        for name, relation in definition.relations.items()
    }
    return GroupPlan(
        group_of(definition), definition.max_skew, relations, tuple(rules), tuple(plans), _own_topics(definition)
    )


def _own_topics(definition: Definition) -> dict[str, OwnTopic]:
    stated = {each.source.kafka.topic for each in definition.relations.values() if each.source is not None}
    found = {topic: relation_topic(definition, topic) for topic in stated}
    return {topic: OwnTopic(own[0], own[1].format == "debezium") for topic, own in found.items() if own is not None}


def plan_view(view: CheckedView, rule: int | None = None) -> ViewPlan:
    """Compiles one view; `rule` is its period's place among the group's shared rules."""
    source = view.summary.input
    compiler = AlgebraCompiler(view.name, None if rule is None else rule_column(rule), is_compound(source))
    rows = compiler.sql(source)
    keyed = _keyed_rows(view)
    if keyed is not None and view.period is not None and view.period.keyed_by is not None:
        bound = [
            f"{to_duckdb(expression)} AS {quoted(f'@key{place}')}"
            for place, (_, expression) in enumerate(view.period.keyed_by.key)
        ]
        rows = f"SELECT *, {', '.join(bound)} FROM ({rows})"
    return ViewPlan(
        view.name,
        frozenset(node.name for node in nodes(source) if isinstance(node, Chronicle)),
        layout_of(view),
        tuple(compiler.steps),
        rows,
        _partial_sql(view, rows if keyed is None else f"SELECT * FROM {quoted(keyed.table)}"),
        view.period,
        rule,
        keyed,
    )


def _keyed_rows(view: CheckedView) -> KeyedRows | None:
    if view.period is None or view.period.keyed_by is None:
        return None
    by = view.period.keyed_by
    names = tuple(name for name, _ in by.key)
    types = tuple(expression.type for _, expression in by.key)
    return KeyedRows(f"{view.name} rows", by.relation, names, types, by.anchor, by.zone)


def _partial_sql(view: CheckedView, rows: str) -> str:
    """The summarisation (Definition 4.3) of an epoch's tuples: keys, period, and each aggregate's partial."""
    selected = [f"{to_duckdb(e)} AS {quoted(group_column(place))}" for place, (_, e) in enumerate(view.summary.keys)]
    where = ""
    if view.period is not None:
        selected.append(quoted(START))
        where = f" WHERE {quoted(START)} IS NOT NULL"
    grouping = ", ".join(str(place + 1) for place in range(len(selected)))
    if view.period is not None and view.period.keyed_by is not None:
        selected.append(f"min({quoted(END)}) AS {quoted(END)}")
    selected += partial_columns(view.summary.aggregates)
    if not grouping:  # without keys there is one row, once something was appended
        return f"SELECT {', '.join([*selected, 'true AS _'])} FROM ({rows}) HAVING count(*) > 0"
    return f"SELECT {', '.join(selected)} FROM ({rows}){where} GROUP BY {grouping}"
