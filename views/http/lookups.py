"""`GET /v1/views`, `GET /v1/views/{view}`, `POST /v1/views/{view}/batch`: rows, straight from the state.

A lookup takes microseconds and runs on the event loop; waiting for an append (`after`) does not hold it up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from chronicle.errors import NotFoundError, UsageError
from chronicle.types import Column
from views.checked import CheckedView
from views.http.bodies import body_of
from views.http.metrics import Metrics
from views.http.models import BatchRequest, Problem, RowAnswer, RowsAnswer, ViewsAnswer
from views.lookup import NotYetError, Row, View, Views
from views.lookup.waiting import parse_wait

DEFAULT_WAIT = "2s"
LONGEST_WAIT = 60.0
_POLL_SECONDS = 0.002
_OPTIONS = frozenset({"at", "period", "all", "after", "wait"})
_NULL = "null"
_COLUMN = "key."
"""Before the name of a key column that is named like an option: `key.at=...`."""

_PROBLEMS: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (400, 401, 404, 410, 503)}


def answer(body: Any) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


def routes(views: Views, metrics: Metrics) -> APIRouter:
    router = APIRouter(prefix="/v1/views", tags=["lookups"])

    @router.get("", responses={200: {"model": ViewsAnswer}}, summary="The views, with their columns")
    async def list_views() -> Response:
        return answer({"views": [view_json(view) for view in views.checked.values()]})

    @router.get(
        "/{view}",
        responses={200: {"model": RowAnswer | RowsAnswer}, **_PROBLEMS},
        summary="A row by its key",
        openapi_extra={"parameters": [*_PARAMETERS]},
    )
    async def get_row(view: str, request: Request) -> Response:
        """Key columns are query parameters by their names; `all=true` answers `{"rows": [...]}`."""
        key, options = _split(request)
        opened = views[view]
        everything = _flag(options.get("all"))
        if everything and ("at" in options or "period" in options):
            raise UsageError("give one of at, period and all")
        await _reflected(opened, [key], options.get("after"), options.get("wait"))
        with metrics.lookups.labels(view).time():
            if everything:
                rows = opened.history(key)
            else:
                row = opened.get(key, at=options.get("at"), period=options.get("period"))
                rows = [] if row is None else [row]
        if not rows:
            named = " ".join(f"{name}={_NULL if value is None else value}" for name, value in key.items())
            raise NotFoundError(f"view {view} has no row for {named or 'this period'}")
        return answer({"rows": [row.to_json() for row in rows]} if everything else rows[0].to_json())

    @router.post(
        "/{view}/batch",
        responses={200: {"model": RowsAnswer}, **_PROBLEMS},
        summary="Rows of many keys, in order",
        openapi_extra={"requestBody": _BATCH},
    )
    async def get_batch(view: str, request: Request) -> Response:
        """`rows` has one entry for each key, null where there is no row."""
        opened = views[view]
        batch = _batch(await body_of(request))
        keys = [_key(opened, key) for key in batch.keys]
        await _reflected(opened, keys, batch.after, batch.wait)
        rows: list[Row | None] = []
        for number, key in enumerate(keys):
            with metrics.lookups.labels(view).time():
                rows.append(opened.get(key, at=batch.at, period=batch.period))
            if number % 100 == 99:
                await asyncio.sleep(0)  # others are served in between
        return answer({"rows": [None if row is None else row.to_json() for row in rows]})

    return router


def view_json(view: CheckedView) -> dict[str, Any]:
    keys = {column.name for column in view.keys}
    return {
        "name": view.name,
        "class": view.cls.value,
        "key": [_column_json(column) for column in view.keys],
        "values": [_column_json(column) for column in view.schema.columns if column.name not in keys],
        "calendar": None if view.period is None else view.period.calendar_name,
    }


def _column_json(column: Column) -> dict[str, Any]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}


def _split(request: Request) -> tuple[dict[str, str | None], dict[str, str]]:
    """The key's columns and the options of a query; `null=COLUMN` names a column that is null."""
    key: dict[str, str | None] = {}
    options: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in _OPTIONS:
            if name in options:
                raise UsageError(f"the parameter {name} is given twice")
            options[name] = value
            continue
        column, given = (value, None) if name == _NULL else (name.removeprefix(_COLUMN), value)
        if column in key:
            raise UsageError(f"the key column {column} is given twice")
        key[column] = given
    return key, options


def _batch(body: bytes) -> BatchRequest:
    try:
        return BatchRequest.model_validate_json(body)
    except ValidationError as error:
        said = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}".lstrip(": ") for each in error.errors()]
        raise UsageError(f"the body is no batch: {'; '.join(said[:5])}", 'send {"keys": [...]}') from None


def _key(view: View, given: Any) -> Mapping[str, Any]:
    match given:
        case dict():
            return given
        case _ if len(view.key_columns) == 1:
            return {view.key_columns[0].name: given}
        case _:
            raise UsageError(f"{given!r} is not a key: view {view.name} has {len(view.key_columns)} key columns")


def _flag(text: str | None) -> bool:
    if text is None or text.lower() in ("false", "0"):
        return False
    if text.lower() in ("true", "1", ""):
        return True
    raise UsageError(f"all={text} is neither true nor false")


async def _reflected(view: View, keys: list[Any], after: str | None, wait: str | None) -> None:
    """Returns once the rows of all keys reflect the append that `after` names; NotYetError when the wait is over."""
    until = time.monotonic() + min(parse_wait(wait or DEFAULT_WAIT), LONGEST_WAIT)
    if after is None:
        return
    while not all(view.reflects(key, after) for key in keys):
        if time.monotonic() >= until:
            raise NotYetError(after)
        await asyncio.sleep(_POLL_SECONDS)


_BATCH = {"required": True, "content": {"application/json": {"schema": BatchRequest.model_json_schema()}}}


def _parameter(name: str, text: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": text, "schema": {"type": kind}}


_PARAMETERS = (
    {
        "name": "key",
        "in": "query",
        "description": "the view's key columns, each by its name; `key.NAME` for one that is named like an option",
        "schema": {"type": "object", "additionalProperties": {"type": "string"}},
        "style": "form",
        "explode": True,
    },
    _parameter("null", "a key column that is null; may be repeated"),
    _parameter("at", "an instant in the wanted period; default: the group's clock"),
    _parameter("period", "the label of the wanted period"),
    _parameter("all", "every retained period of the key", "boolean"),
    _parameter("after", "a token: the answer reflects that append, or is 503"),
    _parameter("wait", f"how long to wait for it; default {DEFAULT_WAIT}"),
)
