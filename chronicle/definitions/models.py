"""The definition of a chronicle group as pydantic models: one per concern, unknown keys forbidden, frozen.

They say what the YAML may be (`chronicle schema` is made from them); what must hold between parts is in consistency.py,
and whether a view can be maintained is for the checker (views/check).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from calendars.durations import Duration, parse_duration
from chronicle.definitions.calendar_models import CalendarText
from chronicle.definitions.scalars import (
    ColumnName,
    Columns,
    DurationText,
    ExpressionText,
    FreeName,
    Name,
    Number,
    fault,
)

FORMAT_VERSION = 1
DEFAULT_JOURNAL = "data/journal"
DEFAULT_STATE = ".chronicle"
TAG = "«"
"""Begins the tags that pydantic puts into an error's location, so that they cannot be taken for a key of the file."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


def _listed(value: object) -> object:
    """`group_by: caller` and `key: number` stand for a list of one."""
    return (value,) if isinstance(value, str) else value


def _as_text(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case _:
            return value


OptionText = Annotated[str, BeforeValidator(_as_text)]


class JournalSource(Part):
    """The embedded journal: files of this machine."""

    path: str = Field(DEFAULT_JOURNAL, alias="journal", min_length=1, description="directory of the journal")
    retain: DurationText | None = Field(None, description="how long appends are kept; default: for ever")


class KafkaCluster(Part):
    servers: str = Field(min_length=1, description="bootstrap servers, host:port, separated by commas")
    topics: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(min_length=1)
    options: dict[str, OptionText] = Field(default={}, repr=False, description="any option of the Kafka client")


class KafkaSource(Part):
    """Topics of a Kafka cluster."""

    kafka: KafkaCluster

    @property
    def servers(self) -> str:
        return self.kafka.servers

    @property
    def topics(self) -> tuple[str, ...]:
        return self.kafka.topics

    @property
    def options(self) -> dict[str, str]:
        return self.kafka.options


def _source_form(value: object) -> str:
    return f"{TAG}kafka" if isinstance(value, dict | KafkaSource) and "kafka" in dict(value) else f"{TAG}journal"


Source = Annotated[
    Annotated[JournalSource, Tag(f"{TAG}journal")] | Annotated[KafkaSource, Tag(f"{TAG}kafka")],
    Discriminator(_source_form),
]


class RelationTopic(Part):
    topic: str = Field(min_length=1)
    format: Literal["json", "debezium"] = "json"
    servers: str | None = Field(None, description="default: those of the group's source")
    options: dict[str, OptionText] = Field(default={}, repr=False)


class RelationSource(Part):
    kafka: RelationTopic


class ChronicleDefinition(Part):
    columns: Columns
    chronon: str | None = Field(None, description="a timestamp column; default: when the append was taken")
    strict: bool = Field(False, description="fields that are not declared make an append malformed")


class RelationDefinition(Part):
    key: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(min_length=1)
    columns: Columns
    retroactive: Literal["reject", "clamp", "correct"] = "reject"
    source: RelationSource | None = None


class PeriodDefinition(Part):
    calendar: str = Field(description="the name of a calendar of this file")
    grace: DurationText = Field(
        default_factory=lambda: parse_duration("P0D"), description="how long a period takes appends after its end"
    )
    expire_after: DurationText | None = Field(None, description="when its rows are deleted, counted from its end")
    late: Literal["reject", "next"] = "reject"


class StepDefinition(Part):
    above: Number
    rate: Number


class TiersDefinition(Part):
    of: ExpressionText
    mode: Literal["volume", "graduated"]
    steps: tuple[StepDefinition, ...] = Field(min_length=1)


class TiersDerivation(Part):
    tiers: TiersDefinition


def _derivation_form(value: object) -> str:
    return f"{TAG}tiers" if isinstance(value, dict | TiersDerivation) else f"{TAG}expression"


Derivation = Annotated[
    Annotated[ExpressionText, Tag(f"{TAG}expression")] | Annotated[TiersDerivation, Tag(f"{TAG}tiers")],
    Discriminator(_derivation_form),
]

_SHORTHAND = ("from", "join", "where", "group_by", "select")


class ViewDefinition(Part):
    """A view, as `sql` or in the shorthand from/join/where/group_by/select; `period` and `derive` go with both."""

    sql: str | None = Field(None, min_length=1)
    from_: str | None = Field(None, alias="from", description="a chronicle")
    join: dict[str, ExpressionText] = Field(default={}, description="relation: condition")
    where: ExpressionText | None = None
    group_by: Annotated[tuple[ExpressionText, ...], BeforeValidator(_listed)] = ()
    select: dict[ColumnName, ExpressionText] = Field(default={}, description="column: aggregate")
    period: PeriodDefinition | None = None
    derive: dict[ColumnName, Derivation] = Field(default={}, description="column: expression over the view's columns")

    @model_validator(mode="after")
    def one_form(self) -> ViewDefinition:
        if self.sql is not None:
            both = [key for key in _SHORTHAND if (f"{key}_" if key == "from" else key) in self.model_fields_set]
            if both:
                raise fault(
                    "CH202",
                    f"'sql' and '{both[0]}' are both given",
                    why="a view is written as sql or in the shorthand; only period and derive go with both",
                    fix=f"remove sql, or remove {', '.join(both)}",
                )
        elif self.from_ is None:
            raise fault(
                "CH202", "neither 'from' nor 'sql' is given", fix="from: a chronicle, or sql: SELECT ... FROM ..."
            )
        elif not self.group_by and not self.select:
            raise fault(
                "CH202",
                "neither 'group_by' nor 'select' is given, so the view has no columns",
                fix="select: {n: count(*)}",
            )
        return self


class Definition(Part):
    """One chronicle group: its chronicles, relations, calendars and views."""

    chronicle: Literal[1] = Field(description="the version of this format")
    name: FreeName = Field(description="the chronicle group")
    source: Source = Field(default_factory=lambda: JournalSource.model_validate({}))
    state: str = Field(DEFAULT_STATE, min_length=1, description="where views, ledger and checkpoint live")
    admit: Literal["sca", "sca-join", "sca1"] = Field("sca", description="the widest class of views to admit")
    shards: int = Field(4, ge=1, le=1024, description="parts that the state is cut into; fixed once there is a state")
    max_skew: DurationText = Field(
        default_factory=lambda: parse_duration("PT1H"), description="how far ahead of real time a chronon may be"
    )
    idle: DurationText = Field(
        default_factory=lambda: parse_duration("PT10M"),
        description="real time after which a slot without appends follows the group's clock",
    )
    group_retain: DurationText | None = Field(None, alias="retain", description="the same as source's retain")
    chronicles: dict[Name, ChronicleDefinition] = Field(min_length=1)
    relations: dict[Name, RelationDefinition] = Field(default={})
    calendars: dict[FreeName, CalendarText] = Field(default={})
    views: dict[Name, ViewDefinition] = Field(default={})

    @model_validator(mode="after")
    def one_retain(self) -> Definition:
        if self.group_retain is not None:
            if isinstance(self.source, KafkaSource):
                raise fault(
                    "CH202", "'retain' is given, and the source is Kafka", why="its topics say what they retain"
                )
            if self.source.retain is not None:
                raise fault("CH202", "'retain' is given twice, here and in source", fix="remove one of them")
        return self

    @property
    def retain(self) -> Duration | None:
        """How long the journal keeps appends; None is for ever."""
        return self.source.retain or self.group_retain if isinstance(self.source, JournalSource) else None
