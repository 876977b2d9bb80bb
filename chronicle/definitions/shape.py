"""The shape of a definition: validates the tree against the models and says every fault at its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from chronicle.definitions import calendar_models, models
from chronicle.definitions.document import Mapping, Node, Sequence, describe, shown
from chronicle.definitions.positions import Path, key_place_of, node_at, place_of
from chronicle.errors import Fault, Place, nearest

_MISSING = {
    "chronicle": "chronicle: 1",
    "name": "name: telecom",
    "chronicles": "chronicles: {calls: {columns: {caller: string, at: timestamp}, chronon: at}}",
    "columns": "columns: {caller: string, at: timestamp}",
    "key": "key: [number]",
    "calendar": "calendar: month",
    "mode": "mode: volume",
    "steps": "steps: [{above: 10, rate: 0.10}]",
    "servers": 'servers: "localhost:9092"',
    "topics": "topics: [calls]",
}
"""What a missing key may look like."""

MAX_FAULTS = 500
"""More help nobody, and a hostile file could ask for a million."""

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "is_instance_of": "a number",
    "decimal_type": "a number",
}


def path_of(location: Iterable[str | int]) -> tuple[Path, bool]:
    """pydantic's location as a path in the file, and whether it speaks of the last key itself."""
    parts = tuple(part for part in location if not (isinstance(part, str) and part.startswith(models.TAG)))
    return (parts[:-1], True) if parts and parts[-1] == "[key]" else (parts, False)


def shape_faults(error: ValidationError, root: Node) -> list[tuple[Path, Fault]]:
    """Each fault with the path of what it is about."""
    found: list[tuple[Path, Fault]] = []
    details = error.errors(include_url=False, include_input=False)
    for detail in details[:MAX_FAULTS]:
        path, about_key = path_of(detail["loc"])
        if not _follows(detail["type"], path, root):
            found.append((path, _fault(detail, path, about_key, root)))
    if len(details) > MAX_FAULTS:
        found.append(((), Fault("CH203", f"and {len(details) - MAX_FAULTS} more faults, not listed")))
    return found


def _follows(kind: str, path: Path, root: Node) -> bool:
    """Whether another fault says it already: a mistyped key is unknown, so the right one is missing; a list of faulty
    items is empty without them."""
    if kind == "missing":
        known = keys_at(path[:-1])
        node = node_at(root, path[:-1])
        unknown = [name for name in node.entries if name not in known] if isinstance(node, Mapping) else []
        return any(nearest(name, known) == path[-1] for name in unknown)
    match node_at(root, path):
        case Sequence(items=inside) | Mapping(entries=inside):
            return kind == "too_short" and len(inside) > 0
        case _:
            return False


def _fault(detail: ErrorDetails, path: Path, about_key: bool, root: Node) -> Fault:
    context: dict[str, Any] = detail.get("ctx", {})
    kind = detail["type"]
    name = str(path[-1]) if path else "the definition"
    here = key_place_of(root, path) if about_key else place_of(root, path)
    node = node_at(root, path)
    found = describe(node) if node is not None else "nothing"
    if kind.startswith("CH"):
        return Fault(kind, context["what"], context["why"], context["fix"], here)
    match kind:
        case "extra_forbidden":
            return _unknown_key(path, root)
        case "missing":
            return _missing_key(path, root)
        case "literal_error":
            return _wrong_choice(name, context["expected"], found, here)
        case "too_short" | "string_too_short":
            return Fault("CH203", f"{shown(name)} is empty", place=here)
        case "greater_than_equal" | "less_than_equal":
            return Fault(
                "CH203", f"{shown(name)} is {found}: {detail['msg'].lower().replace('input ', 'it ')}", place=here
            )
    if kind in _EXPECTED:
        keys = keys_at(path)
        return Fault(
            "CH203",
            f"{shown(name)} takes {_EXPECTED[kind]}, not {found}",
            f"its keys are {', '.join(keys)}" if keys else "",
            _quoted(kind, node),
            here,
        )
    return Fault("CH203", f"{shown(name)}: {detail['msg']}", place=here)


def _wrong_choice(name: str, expected: str, found: str, place: Place) -> Fault:
    choices = expected.replace(" or ", ", ").replace("'", "").split(", ")
    near = nearest(found.strip("'"), choices)
    hint = f"; did you mean '{near}'?" if near else ""
    fix = f"{name}: {near or choices[0]}"
    return Fault("CH211", f"{shown(name)} is {expected}, not {found}{hint}", fix=fix, place=place)


def _quoted(kind: str, node: Node | None) -> str:
    if kind == "string_type" and node is not None and not isinstance(node, Mapping) and describe(node) != "nothing":
        return "put it in quotes" if describe(node) != "a list" else ""
    return ""


def _unknown_key(path: Path, root: Node) -> Fault:
    key = str(path[-1])
    known = keys_at(path[:-1])
    near = nearest(key, known)
    if key.endswith(")") and "(" not in key:
        fix = "inside { } a comma ends the value: put quotes around the value before it"
    else:
        fix = f"write {near}" if near else "remove it"
    where = f" in {_dotted(path[:-1])}" if len(path) > 1 else ""
    hint = f"; did you mean '{near}'?" if near else ""
    why = f"the keys here are {', '.join(known)}" if known else ""
    return Fault("CH201", f"unknown key {shown(key)}{where}{hint}", why, fix, key_place_of(root, path))


def _missing_key(path: Path, root: Node) -> Fault:
    key, parent = str(path[-1]), path[:-1]
    where = f" in {_dotted(parent)}" if parent else ""
    fix = _MISSING.get(key, f"{key}: ...")
    return Fault("CH202", f"{shown(key)} is missing{where}", fix=fix, place=place_of(root, parent))


def _dotted(path: Path) -> str:
    return ".".join(shown(str(part), quote=False) for part in path)


def keys_at(path: Path) -> tuple[str, ...]:
    """The keys that the format knows at a path."""
    match path:
        case ():
            return _keys(models.Definition)
        case ("source",):
            return ("journal", "retain", "kafka")
        case ("source", "kafka"):
            return _keys(models.KafkaCluster)
        case ("chronicles", _):
            return _keys(models.ChronicleDefinition)
        case ("relations", _):
            return _keys(models.RelationDefinition)
        case ("relations", _, "source"):
            return _keys(models.RelationSource)
        case ("relations", _, "source", "kafka"):
            return _keys(models.RelationTopic)
        case ("calendars", _):
            return _keys(calendar_models.CalendarSpec)
        case ("calendars", _, "fiscal"):
            return _keys(calendar_models.Fiscal)
        case ("calendars", _, "fiscal", "year_end"):
            return _keys(calendar_models.YearEnd)
        case ("calendars", _, "periods", _):
            return _keys(calendar_models.NamedPeriod)
        case ("views", _):
            return _keys(models.ViewDefinition)
        case ("views", _, "period"):
            return _keys(models.PeriodDefinition)
        case ("views", _, "derive", _):
            return _keys(models.TiersDerivation)
        case ("views", _, "derive", _, "tiers"):
            return _keys(models.TiersDefinition)
        case ("views", _, "derive", _, "tiers", "steps", _):
            return _keys(models.StepDefinition)
        case _:
            return ()


def _keys(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())
