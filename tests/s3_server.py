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
_harms: dict[str, str] = {}


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """S3 looks at a condition and writes in one step; moto does so in two, so that writes go one after another. `POST
    /!harm/WHAT/NAME` lets the next write of an object with that name go wrong."""
    path = environ["PATH_INFO"]
    if path.startswith("/!harm/"):
        _, _, harm, name = path.split("/")
        _harms[name] = harm
        start_response("204 No Content", [])
        return []
    if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        return _stored(environ, start_response)
    with _writing:
        match _harms.pop(path.rpartition("/")[2], None):
            case "forbid":
                start_response("403 Forbidden", [("Content-Length", "0")])
                return []
            case "lose":  # it is done, and the answer is lost
                list(_stored(environ, lambda status, headers: None))
                start_response("503 Slow Down", [("Content-Length", "0")])
                return []
            case _:
                return _stored(environ, start_response)


def end_with(parent: int) -> None:
    """A test run that is killed leaves no server behind."""
    while os.getppid() == parent:
        threading.Event().wait(1)
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    print(f"http://127.0.0.1:{server.port}", flush=True)
    server.serve_forever()
