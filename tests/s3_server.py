"""`python -m tests.s3_server`: moto's S3 on a free port of loopback, which the first line of its output names."""

from __future__ import annotations

import os
import threading
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by any real one

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  # the name is werkzeug's
        pass


_stored, _writing = DomainDispatcherApplication(create_backend_app), threading.Lock()


def one_write_at_a_time(environ: dict[str, Any], start_response: Any) -> Any:
    """S3 looks at a condition and writes in one step; moto does so in two."""
    if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        return _stored(environ, start_response)
    with _writing:
        return _stored(environ, start_response)


def end_with(parent: int) -> None:
    """A test run that is killed leaves no server behind."""
    while os.getppid() == parent:
        threading.Event().wait(1)
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    server = make_server("127.0.0.1", 0, one_write_at_a_time, threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.port}", flush=True)
    server.serve_forever()
