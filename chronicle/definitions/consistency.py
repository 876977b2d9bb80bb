"""What must hold between the parts of a definition: names with one meaning, columns that exist, valid calendars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from calendars.errors import CalendarError
from chronicle.definitions.models import Definition, KafkaSource, RelationDefinition
from chronicle.definitions.positions import Path
from chronicle.errors import Fault, Place, did_you_mean
from chronicle.types import DATE, STRING, TIMESTAMP, Column, DataType

if TYPE_CHECKING:
    from calendars import Calendar, KeyedCalendar

Calendars: TypeAlias = "dict[str, Calendar | KeyedCalendar]"
PlaceOf = Callable[[Path], Place]
Finding = tuple[Path, Fault]
"""A fault with the path that it is about."""


def chronicle_faults(definition: Definition, place: PlaceOf) -> Iterator[Finding]:
    for name, chronicle in definition.chronicles.items():
        if chronicle.chronon is None:
            continue
        path: Path = ("chronicles", name, "chronon")
        if chronicle.chronon not in chronicle.columns:
            yield (
                path,
                Fault(
                    "CH207",
                    f"chronicle '{name}' has no column '{chronicle.chronon}'"
                    f"{did_you_mean(chronicle.chronon, chronicle.columns.names)}",
                    "the chronon is one of its timestamp columns",
                    place=place(path),
                ),
            )
            continue
        column = chronicle.columns[chronicle.chronon]
        if column.type != TIMESTAMP or column.nullable:
            yield (
                path,
                Fault(
                    "CH207",
                    f"the chronon '{column.name}' of '{name}' is a {column.type}{'?' if column.nullable else ''}",
                    "every append has an instant, so the chronon is a timestamp that is never null",
                    f"{column.name}: timestamp",
                    place(path),
                ),
            )


def relation_faults(definition: Definition, place: PlaceOf) -> Iterator[Finding]:
    for name, relation in definition.relations.items():
        yield from _key_faults(name, relation, place)
        if relation.source is None or isinstance(definition.source, KafkaSource) or relation.source.kafka.servers:
            continue
        path: Path = ("relations", name, "source", "kafka")
        yield (
            path,
            Fault(
                "CH212",
                f"relation '{name}' comes from Kafka, and no servers are known",
                "the group's source is the journal, so the relation must say where its topic is",
                "servers: host:9092",
                place(path),
            ),
        )


def _key_faults(name: str, relation: RelationDefinition, place: PlaceOf) -> Iterator[Finding]:
    for position, key in enumerate(relation.key):
        path: Path = ("relations", name, "key", position)
        if key not in relation.columns:
            yield (
                path,
                Fault(
                    "CH208",
                    f"relation '{name}' has no column '{key}'{did_you_mean(key, relation.columns.names)}",
                    "the key is made of its columns",
                    place=place(path),
                ),
            )
        elif relation.columns[key].nullable:
            yield (
                path,
                Fault(
                    "CH208",
                    f"the key column '{key}' of '{name}' may be null",
                    "a key says which row is meant, so it is never null",
                    f"{key}: {relation.columns[key].type}",
                    place(path),
                ),
            )
        elif key in relation.key[:position]:
            yield path, Fault("CH208", f"the key of '{name}' names '{key}' twice", place=place(path))


def name_faults(definition: Definition, place: PlaceOf) -> Iterator[Finding]:
    """Chronicles and relations share one space of names: queries and messages name both."""
    taken: dict[str, tuple[str, str]] = {}
    for section in ("chronicles", "relations"):
        for name in getattr(definition, section):
            if other := taken.get(name.lower()):
                path: Path = (section, name)
                kind, first = other
                yield (
                    path,
                    Fault(
                        "CH205",
                        f"'{name}' is also the name of the {kind[:-1]} at {place((kind, first))}",
                        "queries and messages name both, and queries do not tell upper from lower case",
                        "rename one of them",
                        place(path),
                    ),
                )
            else:
                taken[name.lower()] = (section, name)
    for section in ("chronicles", "relations"):
        for name, part in getattr(definition, section).items():
            yield from _column_name_faults((section, name, "columns"), part.columns.names, place)


def _column_name_faults(path: Path, names: tuple[str, ...], place: PlaceOf) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            yield (
                (*path, name),
                Fault(
                    "CH205",
                    f"the columns '{seen[name.lower()]}' and '{name}' differ in upper and lower case only",
                    "expressions do not tell them apart",
                    "rename one of them",
                    place((*path, name)),
                ),
            )
        seen.setdefault(name.lower(), name)


def read_calendars(
    definition: Definition, place: PlaceOf, left_out: frozenset[Path]
) -> tuple[Calendars, list[Finding]]:
    """`left_out` are parts that faults of their own keep out of the definition; that they are missing is no fault."""
    calendars: Calendars = {}
    if not definition.calendars:
        return calendars, []
    from calendars import KeyedCalendar, parse_calendar

    faults: list[Finding] = []
    for name, spec in definition.calendars.items():
        path: Path = ("calendars", name)
        try:
            calendar = parse_calendar(spec, columns=True)
        except CalendarError as error:
            at = (*path, *error.path)
            faults.append((at, Fault("CH209", f"calendar '{name}': {error.what}", error.why, error.fix, place(at))))
            continue
        if isinstance(calendar, KeyedCalendar):
            if any(("relations", relation) in left_out for relation in _relations_of(calendar)):
                continue
            if found := list(_keyed_faults(definition, name, calendar, place)):
                faults.extend(found)
                continue
        calendars[name] = calendar
    return calendars, faults


def _relations_of(calendar: KeyedCalendar) -> set[str]:
    columns = (calendar.anchor_column, calendar.zone_column)
    return {column.partition(".")[0] for column in columns if column is not None}


def _keyed_faults(definition: Definition, name: str, calendar: KeyedCalendar, place: PlaceOf) -> Iterator[Finding]:
    for key, reference, types in (
        ("anchor", calendar.anchor_column, (TIMESTAMP, DATE, STRING)),
        ("zone", calendar.zone_column, (STRING,)),
    ):
        if reference is not None:
            yield from _reference_faults(definition, ("calendars", name, key), reference, types, place)


def _reference_faults(
    definition: Definition, path: Path, reference: str, types: tuple[DataType, ...], place: PlaceOf
) -> Iterator[Finding]:
    relation_name, _, column_name = reference.partition(".")
    relation = definition.relations.get(relation_name)
    if relation is None:
        near = did_you_mean(relation_name, definition.relations)
        what = f"'{reference}': there is no relation '{relation_name}'{near}"
        yield path, Fault("CH209", f"the {path[-1]} of calendar '{path[1]}' is {what}", place=place(path))
    elif column_name not in relation.columns:
        near = did_you_mean(column_name, relation.columns.names)
        what = f"'{reference}': relation '{relation_name}' has no column '{column_name}'{near}"
        yield path, Fault("CH209", f"the {path[-1]} of calendar '{path[1]}' is {what}", place=place(path))
    elif (column := relation.columns[column_name]).type not in types:
        yield path, _wrong_type(path, reference, column, types, place)


def _wrong_type(path: Path, reference: str, column: Column, types: tuple[DataType, ...], place: PlaceOf) -> Fault:
    return Fault(
        "CH209",
        f"the {path[-1]} of calendar '{path[1]}' is '{reference}', which is a {column.type}",
        f"it must be of type {' or '.join(map(str, types))}",
        place=place(path),
    )
