"""A real server on a free port, over a state that `lookup_cases.Calls` writes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import httpx
import uvicorn

from chronicle.project import Project
from tests.views.lookup.lookup_cases import Calls
from views.http import create_app
from views.lookup import connect
from views.state import Quarantined

MARCH = "2026-03-17T10:00:00Z"


def filled(calls: Calls) -> Calls:
    """c1 in January to March, a customer's cycle, an odd key, and two refusals."""
    calls.customer("c1", "2026-01-10T00:00:00Z", "UTC")
    calls.call("c1", "2026-01-17T10:00:00Z", seconds=60, amount=500)
    calls.call("c1", "2026-02-17T10:00:00Z", seconds=120, amount=1500)
    calls.call("a=b & ü/☎", MARCH, seconds=7)
    calls.call("c1", MARCH, seconds=4120, amount=3140)
    refused = [
        Quarantined(9 << 12, "malformed", "seconds: missing", b'{"caller": "\xc3\xbc"}'),
        Quarantined(10 << 12, "late", "the period 2026-01 is closed", b"{}", "usage"),
    ]
    return calls.commit(refused)


def served(calls: Calls, keys: Mapping[str, bytes] | None = None) -> AbstractContextManager[httpx.Client]:
    return served_project(calls.project, keys)


@contextmanager
def served_project(project: Project, keys: Mapping[str, bytes] | None = None) -> Iterator[httpx.Client]:
    """A client of uvicorn with the application, on the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(create_app(connect(project), keys), log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=30) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(30)


def problem_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The body of an error, after checking that it is a problem as RFC 9457 has it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert body["type"] == "about:blank"
    assert body["title"]
    assert body["detail"]
    assert "Traceback" not in answer.text
    return body
