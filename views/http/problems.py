"""Every error is an RFC 9457 problem: a status, a title, what happened and what to do now."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from chronicle.errors import ChronicleError, DefinitionError, NotFoundError, UsageError
from views.lookup import NotYetError, PeriodExpiredError, UnknownViewError
from views.state import NoStateError

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1

_STATUS: tuple[tuple[type[ChronicleError], HTTPStatus], ...] = (
    (UnknownViewError, HTTPStatus.NOT_FOUND),
    (PeriodExpiredError, HTTPStatus.GONE),
    (NoStateError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NotYetError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (UsageError, HTTPStatus.BAD_REQUEST),
    (DefinitionError, HTTPStatus.CONFLICT),
    (ChronicleError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
"""The first that fits."""

log = logging.getLogger(__name__)


def problem(
    status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"detail": detail} | ({"hint": hint} if hint else {}) | more
    return Response(orjson.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def status_of(error: ChronicleError) -> HTTPStatus:
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def install(app: FastAPI) -> None:
    app.add_exception_handler(ChronicleError, _chronicle_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)


async def _chronicle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ChronicleError)
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    more = {"faults": [fault.to_json() for fault in error.faults]} if isinstance(error, DefinitionError) else {}
    return problem(status, error.message, error.hint, headers, **more)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = error.detail != HTTPStatus(error.status_code).phrase
    detail = error.detail if known else f"{request.method} {request.url.path}"
    return problem(error.status_code, detail, "the paths are listed at /openapi.json", error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    said = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()]
    return problem(HTTPStatus.BAD_REQUEST, "; ".join(said), "the shapes are described at /openapi.json")


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "something that should not happen did; the log says more")
