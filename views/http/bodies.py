"""What a request may bring: a body up to a limit, and not from another site's page in somebody's browser."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_BODY = 16 << 20


async def body_of(request: Request) -> bytes:
    """The whole body; 413 as soon as it is too large."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            limit = f"at most {MAX_BODY >> 20} MB are taken at once; send it in several batches"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)
        parts.append(part)
    return b"".join(parts)


async def refuse_other_sites(request: Request) -> None:
    """Without keys the loopback interface is the guard, and a browser would carry any page's request past it."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"appends are not taken from pages of {origin}")
