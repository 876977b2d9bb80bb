"""The small types of a definition's values: names, column types, durations, expressions and exact numbers.

Each is checked as it is read, and what is wrong is raised as a `PydanticCustomError` whose type is the fault's code.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from calendars.durations import Duration, parse_duration
from calendars.errors import CalendarError
from chronicle.definitions.document import shown
from chronicle.errors import nearest
from chronicle.types import Column, DataType, Kind, Schema, parse_type

IMPLICIT_COLUMNS = ("sn", "chronon", "pos")
"""Every tuple has them (views/algebra), so no column may take their names."""

MAX_NAME = 128
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FREE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def fault(code: str, what: str, *, why: str = "", fix: str = "") -> PydanticCustomError:
    return PydanticCustomError(code, "{what}", {"what": what, "why": why, "fix": fix})


def _name(text: str) -> str:
    if not _NAME.fullmatch(text) or len(text) > MAX_NAME:
        raise fault(
            "CH204",
            f"{shown(text)} cannot be a name",
            why=f"a name has letters, digits and underscores, begins with a letter, and is at most {MAX_NAME} long",
            fix=_suggested_name(text),
        )
    if text.startswith("_"):
        raise fault(
            "CH204",
            f"the name '{text}' begins with an underscore",
            why="such names are kept for the fields of a message, like _op, _from and _chronicle",
            fix=_suggested_name(text),
        )
    return text


def _suggested_name(text: str) -> str:
    if text.endswith(")") and "(" not in text:
        return 'inside { } a comma ends the value: put quotes around it, as in "decimal(12,2)" or "round(x, 1)"'
    guess = re.sub(r"\W+", "_", text[:MAX_NAME], flags=re.ASCII).strip("_")
    return f"call it {guess}" if _NAME.fullmatch(guess) else ""


def _column_name(text: str) -> str:
    name = _name(text)
    if name.lower() in IMPLICIT_COLUMNS:
        raise fault(
            "CH204",
            f"a column cannot be called '{name}'",
            why=f"{', '.join(IMPLICIT_COLUMNS)} are implicit columns of every chronicle",
            fix=f"call it {name}_",
        )
    return name


def _free_name(text: str) -> str:
    if not _FREE_NAME.fullmatch(text) or len(text) > MAX_NAME:
        raise fault(
            "CH204",
            f"{shown(text)} cannot be a name",
            why=f"it has letters, digits, and . _ - inside, and at most {MAX_NAME} characters",
        )
    return text


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_]*$"})]
"""Of a chronicle, relation or view: an identifier, because queries name them."""

ColumnName = Annotated[
    str, AfterValidator(_column_name), WithJsonSchema({"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_]*$"})
]

FreeName = Annotated[
    str, AfterValidator(_free_name), WithJsonSchema({"type": "string", "pattern": r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"})
]
"""Of a group or a calendar, which no query names."""


def _text(value: object) -> object:
    """An expression may look like a number or a truth value to YAML (`where: true`, `one: 1`)."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case _:
            return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise fault("CH203", "an expression was expected, and the text is empty")
    return text


ExpressionText = Annotated[
    str,
    BeforeValidator(_text),
    AfterValidator(_not_blank),
    WithJsonSchema({"type": ["string", "number", "boolean"], "description": "an SQL expression"}),
]


def _number(value: object) -> object:
    match value:
        case bool():
            return value
        case int():
            return Decimal(value)
        case str() if re.fullmatch(r"[-+]?[0-9]{1,38}(\.[0-9]{1,38})?", value.strip()):
            return Decimal(value.strip())
        case _:
            return value


Number = Annotated[
    Decimal, BeforeValidator(_number), WithJsonSchema({"type": ["number", "string"], "description": "an exact number"})
]


_DURATION_FIX = "write it like P2D, P13M or PT1H"


def _duration(value: object) -> Duration:
    if not isinstance(value, str):
        raise fault("CH210", "a duration was expected, and this is none", fix=_DURATION_FIX)
    try:
        return parse_duration(value)
    except CalendarError as error:
        raise fault("CH210", error.what, why=error.why, fix=error.fix or _DURATION_FIX) from None


class _DurationText:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_duration)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": "^P", "description": "an ISO 8601 duration, such as P2D, P13M or PT1H"}


DurationText = Annotated[Duration, _DurationText]


def _column_type(value: object) -> tuple[DataType, bool]:
    if not isinstance(value, str):
        raise fault(
            "CH206",
            "a column type was expected: string, int64, double, bool, timestamp, date or decimal(p,s)",
            fix='inside { } a type with a comma needs quotes: "decimal(12,2)"',
        )
    try:
        return parse_type(value)
    except ValueError as error:
        raise fault("CH206", str(error), fix=_type_fix(value)) from None


_TYPES = {kind.value: kind.value for kind in Kind} | {"decimal": "decimal(12,2)"}
_FOREIGN_TYPES = {
    **dict.fromkeys(("text", "str", "varchar", "char", "uuid"), "string"),
    **dict.fromkeys(("int", "integer", "bigint", "long", "smallint", "int32"), "int64"),
    **dict.fromkeys(("float", "real", "float64", "float32"), "double"),
    **dict.fromkeys(("datetime", "timestamptz", "instant", "time"), "timestamp"),
    **dict.fromkeys(("numeric", "number", "money"), "decimal(12,2)"),
    "boolean": "bool",
}
"""What other systems call our types."""


def _type_fix(text: str) -> str:
    name = text.strip().rstrip("?").lower()
    if name.startswith("decimal(") and not name.endswith(")"):
        return 'inside { } a type with a comma needs quotes: "decimal(12,2)"'
    word = name.partition("(")[0].strip()
    if found := _FOREIGN_TYPES.get(word) or _TYPES.get(nearest(word, _TYPES) or ""):
        return f"write {found}"
    return ""


def _schema(columns: dict[str, tuple[DataType, bool]]) -> Schema:
    if not columns:
        raise fault("CH206", "there are no columns", fix="columns: {name: string, at: timestamp}")
    return Schema(tuple(Column(name, type_, nullable) for name, (type_, nullable) in columns.items()))


class _SchemaOfMapping:
    """Reads `{caller: string, amount: "decimal(12,2)"}` as a Schema, each fault at its own column."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        names = handler.generate_schema(ColumnName)
        types = core_schema.no_info_plain_validator_function(_column_type)
        return core_schema.no_info_after_validator_function(_schema, core_schema.dict_schema(names, types, strict=True))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        type_pattern = r"^\s*(string|int64|double|bool|timestamp|date|decimal\(\s*\d+\s*,\s*\d+\s*\))\s*\??\s*$"
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": r"^[A-Za-z][A-Za-z0-9_]*$", "not": {"enum": list(IMPLICIT_COLUMNS)}},
            "additionalProperties": {
                "type": "string",
                "pattern": type_pattern,
                "examples": ["string", "int64", "double", "bool", "timestamp", "date", "decimal(12,2)", "string?"],
            },
        }


Columns = Annotated[Schema, _SchemaOfMapping]
