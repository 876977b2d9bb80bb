"""`POST /v1/chronicles/{name}`: appends, one or a batch, as JSON or CloudEvents; durable before they are answered.

What is posted is journalled as it was written, digit for digit. A batch is taken whole or refused whole.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Request, Response

from chronicle.appends import Malformed, decoder_of, parse_body
from chronicle.appends.target import AppendTarget, appendable, open_target
from chronicle.errors import NotFoundError, did_you_mean
from chronicle.project import Project
from views.http.bodies import body_of, refuse_other_sites
from views.http.lookups import answer
from views.http.metrics import Metrics
from views.http.models import Problem, TokenAnswer
from views.http.problems import problem

_BATCHES = ("application/cloudevents-batch+json",)
_EVENTS = ("application/cloudevents+json", *_BATCHES)
_SINGLE = ("application/json", *_EVENTS)
_UNSAID = ("", "application/x-www-form-urlencoded")
"""What clients say that were not told what they send (curl -d): taken for JSON, or refused as none."""
_LINES = ("application/x-ndjson", "application/jsonl")
_WHITE = " \t\n\r"

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 413, 415, 422)
}
_BODY = {
    "required": True,
    "content": {kind: {"schema": {}} for kind in (*_SINGLE, *_LINES)},
    "description": "a tuple, an envelope or a CloudEvent; or an array of them, each an append of its own",
}


class NotJsonError(ValueError):
    """The request's body is not what its content type says."""


def routes(project: Project, metrics: Metrics) -> APIRouter:
    router = APIRouter(prefix="/v1/chronicles", tags=["appends"])
    definition = appendable(project)
    decoder = decoder_of(definition)
    opened: list[AppendTarget] = []

    def append(name: str, values: list[bytes]) -> str:
        """On a worker thread: it returns when the disk has it. The journal is made by the first append."""
        if not opened:
            opened.append(open_target(project))
        return str(opened[0].append(name, values))

    @router.post(
        "/{name}",
        responses={200: {"model": TokenAnswer}, **_PROBLEMS},
        summary="Append to a chronicle",
        openapi_extra={"requestBody": _BODY},
        dependencies=[Depends(refuse_other_sites)],
    )
    async def post_appends(name: str, request: Request) -> Response:
        """Answers with the token of the (last) append. A malformed tuple is 422, and nothing is appended."""
        if name not in definition.chronicles:
            hint = f'changes go in an envelope: {{"{name}": [...]}}' if name in definition.relations else ""
            raise NotFoundError(f"there is no chronicle '{name}'{did_you_mean(name, definition.chronicles)}", hint)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (*_SINGLE, *_LINES, *_UNSAID):
            wanted = ", ".join((*_SINGLE, *_LINES))
            return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"'{kind}' is not a type of append", f"send {wanted}")
        if (coding := request.headers.get("content-encoding", "identity").strip().lower()) != "identity":
            what = f"the body is coded ('{coding}'), and only plain ones are taken"
            return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, what, "send it without Content-Encoding")
        body = await body_of(request)
        try:
            values = [line.strip() for line in body.splitlines()] if kind in _LINES else split(body)
        except NotJsonError as error:
            return problem(HTTPStatus.BAD_REQUEST, str(error))
        values = [value for value in values if value]
        if not values:
            return problem(HTTPStatus.BAD_REQUEST, "there is nothing to append")
        headers = (("chronicle", name.encode()),)
        for at, value in enumerate(values):
            try:
                if kind in _EVENTS:
                    _require_event(value)
                decoder.decode(value, headers, 0)
            except Malformed as error:
                where = f"append {at}: " if len(values) > 1 else ""
                hint = "nothing was appended"
                return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}{error.reason}", hint, index=at)
        token = await run_sync(append, name, values)
        metrics.appended.inc(len(values))
        return answer({"token": token})

    return router


def _require_event(value: bytes) -> None:
    """What is sent as an event is one: without data its own fields would be read as a tuple's."""
    event = parse_body(value)
    lacking = [name for name in ("specversion", "type") if not isinstance(event.get(name), str)]
    if lacking:
        raise Malformed(f"the CloudEvent has no {lacking[0]}")
    if "data" not in event:
        coded = ": data_base64 is not read, data is" if "data_base64" in event else ""
        raise Malformed(f"the CloudEvent has no data{coded}")


def split(body: bytes) -> list[bytes]:
    """The elements of a JSON array, or the one value, as they were written: parsing would lose digits of decimals."""
    try:
        text = body.decode().strip(_WHITE)
        if not text.startswith("["):
            json.loads(text)
            return [text.encode()]
        return [element.encode() for element in _elements(text)]
    except UnicodeDecodeError:
        raise NotJsonError("the body is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotJsonError(f"the body is not JSON: {error}") from None


def _elements(text: str) -> list[str]:
    scan = json.JSONDecoder().raw_decode
    elements: list[str] = []
    at = _skip(text, 1)
    while text[at : at + 1] != "]":
        _, end = scan(text, at)
        elements.append(text[at:end])
        at = _skip(text, end)
        match text[at : at + 1]:
            case ",":
                at = _skip(text, at + 1)
                if text[at : at + 1] == "]":
                    raise json.JSONDecodeError("Expecting value", text, at)
            case "]":
                pass
            case _:
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    if at + 1 != len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)
    return elements


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _WHITE:
        at += 1
    return at
