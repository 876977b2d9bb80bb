"""Lookups and appends over HTTP (contract §5): FastAPI over `views.lookup`; see docs/http.md."""

from views.http.app import create_app
from views.http.server import serve

__all__ = ["create_app", "serve"]
