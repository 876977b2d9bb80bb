"""Running the application: one process on uvicorn, on the loopback interface unless there are keys."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Mapping

import uvicorn
from fastapi import FastAPI

from views.http.keys import require_loopback


def serve(app: FastAPI, host: str, port: int, keys: Mapping[str, bytes] | None, started: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; `started` is told the address as soon as connections are taken."""
    require_loopback(host, keys)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=1024)
    # asyncio sets it only on sockets that name their protocol; without it an answer may wait 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    # uvicorn raises the signal that stopped it once more when it is done; a stopped server has not failed.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: None)
    shown = f"[{host}]" if ":" in host else host
    started(f"http://{shown}:{listening.getsockname()[1]}")
    uvicorn.Server(config).run(sockets=[listening])
