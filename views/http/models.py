"""The shapes of requests and answers, for validation and for /openapi.json."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MAX_BATCH = 10_000


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")


class PeriodAnswer(Answer):
    label: str
    start: str
    end: str
    state: str = Field(description="open, grace or closed")


class AsOfAnswer(Answer):
    clock: str | None
    offsets: dict[str, dict[str, int]] = Field(description="topic -> partition -> next offset")
    age_ms: int


class RowAnswer(Answer):
    view: str
    key: dict[str, Any]
    period: PeriodAnswer | None
    values: dict[str, Any] = Field(description="decimals are strings")
    as_of: AsOfAnswer


class RowsAnswer(Answer):
    rows: list[RowAnswer | None]


class ColumnAnswer(Answer):
    name: str
    type: str
    nullable: bool


class ViewAnswer(Answer):
    name: str
    class_: str = Field(alias="class")
    key: list[ColumnAnswer]
    values: list[ColumnAnswer]
    calendar: str | None


class ViewsAnswer(Answer):
    views: list[ViewAnswer]


class RefusalAnswer(Answer):
    sn: int
    fate: str
    reason: str
    body: str
    view: str | None


class LedgerAnswer(Answer):
    fates: dict[str, int]
    quarantine: list[RefusalAnswer]


class TokenAnswer(Answer):
    token: str = Field(description="names the (last) append; give it as `after` to see its effect")


class Problem(Answer):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str


class BatchRequest(BaseModel):
    """Keys as objects, or as bare values where the view has one key column."""

    model_config = ConfigDict(extra="forbid")

    keys: list[Any] = Field(max_length=MAX_BATCH)
    at: str | None = None
    period: str | None = None
    after: str | None = None
    wait: str | None = None
