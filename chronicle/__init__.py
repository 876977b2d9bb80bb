"""Chronicle: summaries of append-only event streams, kept up to date and answered in microseconds.

    import chronicle
    project = chronicle.load("chronicle.yaml")     # definitions, checked lazily
    verdict = project.check()                      # .views["usage"].cls, .bound, .refusals
    views = chronicle.connect("chronicle.yaml")    # lookups: no Spark, no Java
    row = views["usage"].get(caller="c1")

Importing it is cheap: everything else is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from chronicle.project import Project
    from views.lookup import Views

__version__ = "0.1.0"

__all__ = ["__version__", "connect", "load"]


def load(*paths: str | Path) -> Project:
    """The project that one or more definition files describe (default `chronicle.yaml`)."""
    from chronicle.project import Project

    return Project.load(paths or ("chronicle.yaml",))


def connect(*paths: str | Path, state: str | Path | None = None) -> Views:
    """Lookups on the views of a project, from this process: no Spark, no Java."""
    from views.lookup import connect as connect_views

    return connect_views(load(*paths), state=state)
