"""CheckedView → Plan: the SQL and the rules by which the kernels keep a view, and all views of a group together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from calendars import Duration
from chronicle.appends import Group, group_of
from chronicle.appends.topics import relation_topic
from chronicle.definitions import Definition
from views.checked import CheckedView, PeriodRule
from views.plan.programs import Planned, Program, programs_of
from views.state import RelationLayout, ViewLayout, layout_of


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """What folds and lookups know of a view. `relations` are those that decide its rows."""

    name: str
    layout: ViewLayout
    period: PeriodRule | None
    relations: frozenset[str]


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
    """All views of a chronicle group: one pass over the appends serves them all. `programs` are how the map makes their
    partials."""

    group: Group
    max_skew: Duration
    relations: Mapping[str, RelationPlan]
    rules: tuple[PeriodRule, ...]
    views: tuple[ViewPlan, ...]
    programs: tuple[Program, ...]
    own_topics: Mapping[str, OwnTopic] = field(default_factory=dict)

    @property
    def view_layouts(self) -> tuple[ViewLayout, ...]:
        return tuple(view.layout for view in self.views)

    @property
    def relation_layouts(self) -> tuple[RelationLayout, ...]:
        return tuple(relation.layout for relation in self.relations.values())

    def only(self, wanted: Collection[str]) -> GroupPlan:
        """The plan of these views alone."""
        programs = (program.only(wanted) for program in self.programs)
        return replace(
            self,
            views=tuple(view for view in self.views if view.name in wanted),
            programs=tuple(program for program in programs if program.views),
        )


def plan_group(definition: Definition, views: Iterable[CheckedView]) -> GroupPlan:
    """Compiles every admitted view of a definition."""
    rules: dict[PeriodRule, int] = {}
    layouts: list[ViewLayout] = []
    planned: list[Planned] = []
    for view in views:
        shared = view.period if view.period is not None and view.period.keyed_by is None else None
        place = None if shared is None else rules.setdefault(shared, len(rules))
        layouts.append(layout_of(view))
        planned.append(Planned(view, layouts[-1].monoids, place))
    programs = programs_of(planned)
    joined = {name: program.relations for program in programs for name in program.views}
    plans = tuple(
        ViewPlan(each.view.name, layout, each.view.period, joined[each.view.name])
        for each, layout in zip(planned, layouts, strict=True)
    )
    relations = {
        name: RelationPlan(RelationLayout(name, relation.columns.columns, tuple(relation.key)), relation.retroactive)
        for name, relation in definition.relations.items()
    }
    return GroupPlan(
        group_of(definition), definition.max_skew, relations, tuple(rules), plans, programs, _own_topics(definition)
    )


def _own_topics(definition: Definition) -> dict[str, OwnTopic]:
    stated = {each.source.kafka.topic for each in definition.relations.values() if each.source is not None}
    found = {topic: relation_topic(definition, topic) for topic in stated}
    return {topic: OwnTopic(own[0], own[1].format == "debezium") for topic, own in found.items() if own is not None}
