"""Running the server: health, metrics, OpenAPI, keys, the loopback rule, and the page for people."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from chronicle.cli.main import run
from chronicle.errors import ChronicleError, UsageError
from tests.views.http.http_cases import filled, problem_of, served
from tests.views.lookup.lookup_cases import Calls, project_in
from views.http.keys import read_keys, require_loopback

GUARDED = ("/v1/views", "/v1/views/usage?caller=c1", "/v1/ledger", "/v1/status", "/metrics")
OPEN = ("/live", "/ready", "/openapi.json", "/")
CHROMIUM = shutil.which("chromium")


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return filled(Calls(project_in(tmp_path)))


def test_live_and_ready_answer_and_ready_waits_for_a_state(calls: Calls) -> None:
    with served(calls) as http:
        assert http.get("/live").json() == {"status": "live"}
        assert http.get("/ready").json() == {"status": "ready", "epoch": calls.epoch}
        calls.state.close()
        shutil.rmtree(calls.project.state_dir)
        not_ready = http.get("/ready")
        assert "there is no state" in problem_of(not_ready, 503)["detail"]
        assert "retry-after" in not_ready.headers
        assert http.get("/live").status_code == 200
        problem_of(http.get("/v1/ledger"), 503)
        assert http.get("/metrics").status_code == 200


def test_openapi_describes_every_path(calls: Calls) -> None:
    with served(calls) as http:
        said = http.get("/openapi.json").json()
    assert set(said["paths"]) == {
        "/v1/views", "/v1/views/{view}", "/v1/views/{view}/batch", "/v1/chronicles/{name}", "/v1/ledger", "/v1/status",
        "/metrics", "/live", "/ready",
    }  # fmt: skip
    lookup = said["paths"]["/v1/views/{view}"]["get"]
    assert {"at", "period", "all", "after", "wait"} <= {each["name"] for each in lookup["parameters"]}
    assert {"200", "400", "404", "410", "503"} <= set(lookup["responses"])


def test_metrics_tell_progress_fates_and_the_latency_of_lookups(calls: Calls) -> None:
    with served(calls) as http:
        http.get("/v1/views/usage?caller=c1")
        http.post(
            "/v1/chronicles/calls", json=[{"caller": "c", "seconds": 1, "amount": 1, "at": "2026-03-17T11:00:00Z"}]
        )
        text = http.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines["chronicle_epoch"]) == calls.epoch
    assert float(lines['chronicle_appends_total{fate="malformed"}']) == 1
    assert float(lines['chronicle_lookup_seconds_count{view="usage"}']) == 1
    assert float(lines["chronicle_http_appends_total"]) == 1
    assert float(lines["chronicle_state_bytes"]) > 0
    assert {"chronicle_lag_appends", "chronicle_clock_seconds", 'chronicle_view_rows{view="usage"}'} <= set(lines)


def test_with_keys_everything_that_shows_or_takes_data_needs_one(calls: Calls, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# who\n\nann: s3cret\nbob: sha256:{sha256(b'b:ob').hexdigest()}\nünal: schlüssel\n")
    hashed = f"Bearer sha256:{sha256(b'b:ob').hexdigest()}"
    with served(calls, read_keys(path)) as http:
        for each in GUARDED:
            refused = http.get(each)
            problem_of(refused, 401)
            assert refused.headers["www-authenticate"] == "Bearer"
            for header in ("Bearer wrong", "Bearer", "Basic s3cret", "s3cret", hashed):
                problem_of(http.get(each, headers={"Authorization": header}), 401)
            for key in ("s3cret", "b:ob", "schlüssel"):
                assert http.get(each, headers={"Authorization": f"Bearer {key}".encode()}).status_code == 200
        problem_of(http.post("/v1/chronicles/calls", json={}), 401)
        problem_of(http.post("/v1/views/usage/batch", json={"keys": []}), 401)
        for each in OPEN:
            assert http.get(each).status_code == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "has no keys"),
        (b"# nobody\n", "has no keys"),
        (b"ann\n", "keys:1: a line is"),
        (b"ann:\n", "keys:1: a line is"),
        (b"ann: a\nann: b\n", "keys:2: the name 'ann' is there twice"),
        (b"ann: sha256:abc\n", "keys:1: sha256: is followed by 64"),
        (b"ann: \xff\n", "is not UTF-8"),
    ],
)
def test_a_keys_file_that_cannot_be_read_says_where(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "keys"
    path.write_bytes(text)
    with pytest.raises(ChronicleError, match=said):
        read_keys(path)


def test_without_keys_the_server_stays_on_the_loopback_interface(calls: Calls, tmp_path: Path, capsys) -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        require_loopback(host, None)
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.org"):
        with pytest.raises(UsageError, match="no keys are given"):
            require_loopback(host, None)
        require_loopback(host, {"ann": b""})
    definition = str(tmp_path / "chronicle.yaml")
    assert run(["serve", "-f", definition, "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "--keys" in capsys.readouterr().err
    assert run(["serve", "-f", definition, "--keys", str(tmp_path / "none")]) == 2


def test_the_page_needs_nothing_from_elsewhere(calls: Calls) -> None:
    with served(calls) as http:
        page = http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "//" not in page.text.replace("// A link", "")
    assert "src=" not in page.text


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_in_a_browser_the_page_lists_views_counts_and_the_row_of_a_link(calls: Calls, tmp_path: Path) -> None:
    calls.call("<b>bold</b>", "2026-03-17T10:00:00Z", seconds=9).commit()
    with served(calls) as http:
        plain = _dom(f"{http.base_url}", tmp_path)
        row = _dom(f"{http.base_url}#usage?caller=c1&period=2026-02", tmp_path)
        odd = _dom(f"{http.base_url}#usage?caller=%3Cb%3Ebold%3C%2Fb%3E", tmp_path)
        missing = _dom(f"{http.base_url}#usage?caller=nobody", tmp_path)
    assert "Chronicle: telecom" in plain
    assert "<td>usage</td><td>SCA1</td><td>caller</td>" in plain
    assert '<td>malformed</td><td class="number">1</td>' in plain
    assert "<td>period</td><td>2026-02, closed</td>" in row
    assert "<td>spend</td><td>15.00</td>" in row
    assert "<td>caller</td><td>&lt;b&gt;bold&lt;/b&gt;</td>" in odd
    assert "view usage has no row for caller=nobody" in missing


def _dom(address: str, directory: Path) -> str:
    """The page as a browser has it once its requests are answered."""
    flags = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=10000", "--dump-dom",
    )  # fmt: skip
    command = [str(CHROMIUM), *flags, f"--user-data-dir={directory / 'browser'}", address]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.slow
def test_serve_says_where_it_listens_and_ends_without_complaint_on_a_signal(calls: Calls, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chronicle.cli.main", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[1]
            assert httpx.get(f"{address}/v1/views/usage?caller=c1").json()["values"]["spend"] == "31.40"
            port = address.rsplit(":", 1)[1]
            taken = subprocess.run([*command[:-1], port], cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (taken.returncode, "Traceback" in taken.stderr) == (1, False)
            assert "in use" in taken.stderr
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
        assert server.stderr.read() == ""


def test_status_over_http_is_that_of_the_command(calls: Calls, tmp_path: Path, capsys) -> None:
    assert run(["status", "--json", "-f", str(tmp_path / "chronicle.yaml")]) == 0
    said = json.loads(capsys.readouterr().out)
    with served(calls) as http:
        assert http.get("/v1/status").json() == said
