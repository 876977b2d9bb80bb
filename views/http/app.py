"""The application: routes for lookups, appends, ledger and status, metrics and health, behind one guard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Query, Response
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from chronicle import __version__
from views.http import appends, lookups, problems
from views.http.keys import Guard
from views.http.lookups import answer
from views.http.metrics import Metrics
from views.http.models import LedgerAnswer, Problem
from views.lookup import Views, status_of

DEFAULT_REFUSALS = 1000


def create_app(views: Views, keys: Mapping[str, bytes] | None = None) -> FastAPI:
    """`keys`: name -> SHA-256 of a key (`views.http.keys.read_keys`); None lets everyone in."""
    app = FastAPI(
        title=f"Chronicle: {views.project.definition.name}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
    )
    problems.install(app)
    metrics = Metrics(views)
    guard: list[Any] = [Depends(Guard(keys))]
    if keys is not None:
        guard.append(Depends(HTTPBearer(auto_error=False)))
    app.include_router(lookups.routes(views, metrics), dependencies=guard)
    app.include_router(appends.routes(views.project, metrics), dependencies=guard)
    app.include_router(_standing(views, metrics), dependencies=guard)
    app.include_router(_health(views))
    app.include_router(_page())
    return app


def _standing(views: Views, metrics: Metrics) -> APIRouter:
    router = APIRouter()

    @router.get("/v1/ledger", tags=["ledger"], responses={200: {"model": LedgerAnswer}})
    def get_ledger(fate: str | None = None, limit: int = Query(DEFAULT_REFUSALS, ge=0)) -> Response:
        """Counts by fate, and the refused appends with their reasons, the latest first."""
        return answer(views.ledger(fate, limit).to_json())

    @router.get("/v1/status", tags=["ledger"])
    def get_status() -> Response:
        """Epoch, clock, lag, offsets and rows, as `chronicle status --json` prints them."""
        return answer(status_of(views).to_json())

    @router.get("/metrics", tags=["operation"])
    def get_metrics() -> Response:
        """For Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return router


def _page() -> APIRouter:
    """For people with a browser; it holds no data itself, and fetches nothing from elsewhere."""
    router = APIRouter(include_in_schema=False)
    page = Path(__file__).with_name("page.html").read_bytes()
    rules = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"

    @router.get("/")
    async def get_page() -> Response:
        headers = {"Content-Security-Policy": f"{rules}; base-uri 'none'; form-action 'none'"}
        return Response(page, media_type="text/html", headers=headers)

    return router


def _health(views: Views) -> APIRouter:
    """Open to all, also where keys are asked for: it tells nothing of the data."""
    router = APIRouter(tags=["operation"])

    @router.get("/live")
    async def live() -> Response:
        """This process answers."""
        return answer({"status": "live"})

    @router.get("/ready", responses={503: {"model": Problem}})
    async def ready() -> Response:
        """There is a state to look rows up in; 503 before a job has made it."""
        return answer({"status": "ready", "epoch": views.state.shard(0).standing().epoch})

    return router
