"""The image: what its Dockerfile says, and its entry commands run in the virtual environment at hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_lines import ROOT

IMAGE = ROOT / "deploy" / "image"
DOCKERFILE = (IMAGE / "Dockerfile").read_text()
LINES = [line for line in DOCKERFILE.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def instructions(name: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LINES if line.split()[0] == name]


def entry(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The image's entry point with the interpreter of the tests in the place of the image's."""
    import pyspark

    here = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = ["sh", str(IMAGE / "entrypoint.sh"), *arguments]
    return subprocess.run(
        command, env={**os.environ, **here, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def test_what_is_copied_is_there_and_reaches_the_build() -> None:
    allowed = [
        line[1:] for line in (IMAGE / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")
    ]
    for copied in (line for line in instructions("COPY") if not line.startswith("--from")):
        for source in copied.split()[:-1]:
            assert ROOT.joinpath(source).exists(), source
            assert any(source == entry or source.startswith(f"{entry}/") for entry in allowed), source


def test_every_package_is_copied() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")}
    copied = {word for line in instructions("COPY") for word in line.split()}
    assert packages == {"calendars", "chronicle", "views", "streaming"}
    assert packages <= copied


def test_every_file_of_the_packages_is_installed_with_them() -> None:
    """The image installs a wheel, not the work tree: what package-data leaves out would be missing only there."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    packages = ("calendars", "chronicle", "views", "streaming")
    files = [path for package in packages for path in (ROOT / package).rglob("*") if path.is_file()]
    data = [path for path in files if path.suffix not in (".py", ".pyc")]
    assert data
    assert [path for path in data if not any(path.match(pattern) for pattern in patterns)] == []


def test_stages_are_pinned_and_the_last_one_runs_without_rights() -> None:
    stages = instructions("FROM")
    assert len(stages) == 3
    assert all(re.search(r":\d", stage) for stage in stages)
    assert instructions("USER") == ["10001"]
    assert len(instructions("HEALTHCHECK")) == 1
    assert instructions("ENTRYPOINT") == ['["tini", "--", "/opt/chronicle/entrypoint.sh"]']


def test_dependencies_are_installed_from_the_hashed_lock() -> None:
    assert any("--require-hashes -r requirements.lock" in line for line in instructions("RUN"))


@pytest.mark.parametrize("script", ["entrypoint.sh", "health.sh"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(IMAGE / script, os.X_OK)
    subprocess.run(["sh", "-n", str(IMAGE / script)], check=True)


def test_anything_but_spark_is_the_chronicle_command() -> None:
    done = entry("calendar", "{every: P1M}", "--at", "2026-03-17T10:00:00Z", "--json")
    assert (done.returncode, done.stdout[:10]) == (0, '{"n": 674,')


@pytest.mark.spark
@pytest.mark.slow
def test_the_driver_runs_a_file_under_spark_submit(tmp_path: Path) -> None:
    """What the Spark operator asks of an image, up to the job's own command line."""
    job = ROOT / "deploy" / "job.py"
    done = entry("driver", "--master", "local[1]", str(job), "--help", PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert "chronicle run" in done.stdout


@pytest.mark.spark
@pytest.mark.slow
def test_the_executor_starts_the_backend_for_kubernetes() -> None:
    """Without a driver to call it gets no further than that; the class and its options are the point."""
    java = subprocess.run(["sh", "-c", "readlink -f $(command -v java)"], capture_output=True, text=True, check=True)
    done = entry(
        "executor",
        JAVA_HOME=os.environ.get("JAVA_HOME") or str(Path(java.stdout.strip()).parents[1]),
        CHRONICLE_JARS="/nowhere",
        SPARK_JAVA_OPT_0="-Dspark.network.timeout=2s",
        SPARK_JAVA_OPT_1="-Dspark.rpc.numRetries=1",
        SPARK_EXECUTOR_MEMORY="256m",
        SPARK_DRIVER_URL="spark://CoarseGrainedScheduler@127.0.0.1:1",
        SPARK_EXECUTOR_ID="1",
        SPARK_EXECUTOR_CORES="1",
        SPARK_APPLICATION_ID="app",
        SPARK_EXECUTOR_POD_IP="127.0.0.1",
    )
    said = done.stdout + done.stderr
    assert "KubernetesExecutorBackend" in said
    assert "Unrecognized options" not in said
    assert re.search(r"Failed to connect|Connection refused|Exception thrown in awaitResult", said)


def health(tmp_path: Path, *command: str) -> int:
    main = tmp_path / "cmdline"
    main.write_bytes(b"\0".join(word.encode() for word in command) + b"\0")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "CHRONICLE_CMDLINE": str(main), "PATH": path}
    return subprocess.run(
        ["sh", str(IMAGE / "health.sh")], env=environment, capture_output=True, check=False
    ).returncode


def test_a_job_is_healthy_while_it_is_there_and_a_server_while_it_answers(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Live(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/live" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    assert health(tmp_path, "tini", "--", "entrypoint.sh", "run", "--once") == 0
    with HTTPServer(("127.0.0.1", 0), Live) as server:
        port = str(server.server_port)
        Thread(target=server.serve_forever, daemon=True).start()
        assert health(tmp_path, "tini", "--", "entrypoint.sh", "serve", "--port", port) == 0
        server.shutdown()
    assert health(tmp_path, "tini", "--", "entrypoint.sh", "serve", "--port", port) != 0
