"""The shape of a calendar's spec, so that its faults have a place and editors complete it.

What a spec means, and whether its values make sense together, is for `calendars.parse_calendar`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class YearEnd(_Part):
    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    rule: Literal["nearest", "last"]
    month: int = Field(ge=1, le=12)


class Fiscal(_Part):
    pattern: Literal["4-4-5", "4-5-4", "5-4-4", "13x4"]
    year_end: YearEnd
    every: Literal["year", "quarter", "month", "week"]
    named: Literal["start", "end"] = "start"


class NamedPeriod(_Part):
    name: str = Field(description="the period's label")
    start: str
    end: str


class CalendarSpec(_Part):
    """One of: every (with anchor, zone, length), fiscal, boundaries, periods."""

    every: str | None = Field(None, description="ISO 8601 duration: P1M, P1D, PT15M")
    anchor: str | None = Field(None, description="a local date-time, an instant, or relation.column")
    zone: str | None = Field(None, description="IANA zone name, or relation.column; default UTC")
    length: str | None = Field(None, description="ISO 8601 duration; longer than `every` makes periods overlap")
    fiscal: Fiscal | None = None
    boundaries: tuple[str, ...] | None = Field(None, description="starts of consecutive periods, the last one an end")
    periods: tuple[NamedPeriod, ...] | None = None


def _thaw(value: Any) -> Any:
    match value:
        case tuple():
            return [_thaw(item) for item in value]
        case dict():
            return {name: _thaw(item) for name, item in value.items()}
        case _:
            return value


class _CheckedSpec:
    """The spec itself, as written, after its shape was checked against `CalendarSpec`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def keep(value: Any, validate: core_schema.ValidatorFunctionWrapHandler) -> Any:
            validate(value)
            return _thaw(value)

        return core_schema.no_info_wrap_validator_function(keep, handler.generate_schema(CalendarSpec))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(dict(CalendarSpec.__pydantic_core_schema__))


CalendarText = Annotated[dict[str, Any], _CheckedSpec]
