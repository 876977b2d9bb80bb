"""`chronicle serve`: lookups and appends over HTTP. Needs neither Spark nor Java, and no running job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.lookup_options import local_option, open_views
from chronicle.cli.options import project_options

if TYPE_CHECKING:
    from chronicle.project import Project


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another than loopback needs --keys.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--keys",
    "keys_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Who may ask: a line `name: key` or `name: sha256:<hex>` each.",
)
@click.option("--follow", "following", is_flag=True, help="Keep the index of a Delta state current while serving.")
@local_option
@project_options
def command(project: Project, host: str, port: int, keys_file: Path | None, following: bool, local: str | None) -> None:
    """Serve lookups over HTTP: /v1/views, /v1/ledger, /v1/chronicles, /metrics; described at /openapi.json.

    \b
    chronicle serve --port 8000
    curl 'localhost:8000/v1/views/usage?caller=c1'
    """
    from views.http import create_app, serve
    from views.http.keys import read_keys, require_loopback

    keys = None if keys_file is None else read_keys(keys_file)
    require_loopback(host, keys)
    with _followed(project, local) if following else nullcontext():
        app = create_app(open_views(project, local), keys)
        serve(app, host, port, keys, lambda url: output.message(f"serving {url} (Ctrl-C stops)"))


@contextmanager
def _followed(project: Project, local: str | None) -> Iterator[None]:
    """Follows into `local` in the background; this machine's own index is followed in any case."""
    if local is None:
        yield
        return
    from views.replica.indexes import Following, followed

    with followed(project, Path(local)) as keeper:
        keeper.catch_up()
        thread = Following(keeper)
        thread.start()
        try:
            yield
        finally:
            thread.stop()
