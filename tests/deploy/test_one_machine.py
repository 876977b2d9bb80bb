"""Compose, systemd, the dashboard and the alerts: they parse, and everything that they name exists."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from configparser import ConfigParser
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_lines import ROOT, faults_of

from chronicle.appends import decode
from chronicle.definitions import load_text
from views.check import check

COMPOSE = ROOT / "deploy" / "compose"
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "chronicle.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy" / "grafana" / "alerts.yaml").read_text())
METRIC = re.compile(r"\bchronicle_[a-z_]+")


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    return found


def test_compose_has_a_broker_a_job_lookups_and_a_producer() -> None:
    assert {"broker", "topics", "job", "lookups", "producer"} == set(services())
    for service in services().values():
        assert set(service.get("depends_on", {})) <= set(services())


@pytest.mark.parametrize("name", ["topics", "job", "lookups"])
def test_compose_calls_commands_and_flags_that_exist(name: str) -> None:
    assert faults_of(shlex.join(services()[name]["command"])) == []


def test_the_producer_pipes_into_an_append_that_exists() -> None:
    script = services()["producer"]["entrypoint"][-1]
    assert faults_of(script.split("| chronicle ")[1]) == []


def test_files_that_compose_mounts_are_beside_it() -> None:
    mounted = [volume for service in services().values() for volume in service.get("volumes", ())]
    files = [volume.split(":")[0] for volume in mounted if volume.startswith("./")]
    assert files
    assert all(COMPOSE.joinpath(file).is_file() for file in files)


def test_lookups_are_published_on_loopback_only() -> None:
    assert all(port.startswith("127.0.0.1:") for port in services()["lookups"]["ports"])


def test_the_definition_of_compose_is_admitted_and_takes_the_calls_of_the_producer() -> None:
    definition = load_text((COMPOSE / "chronicle.yaml").read_text())
    assert set(check(definition).admitted) == {"bill", "recent"}
    spec = importlib.util.spec_from_file_location("producer", COMPOSE / "producer.py")
    assert spec is not None
    assert spec.loader is not None
    producer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(producer)
    for call in islice(producer.calls(seed=1), 100):
        append = decode(json.dumps(call).encode(), (), 0, definition.definition)
        assert [row["caller"] for row in append.tuples["calls"]] == [call["caller"]]


def unit(path: Path) -> ConfigParser:
    parsed = ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # systemd tells case apart
    parsed.read_string(path.read_text())
    return parsed


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_call_commands_and_flags_that_exist(path: Path) -> None:
    service = unit(path)["Service"]
    for key in ("ExecStartPre", "ExecStart"):
        if key in service:
            program, *words = shlex.split(service[key])
            assert program == "/opt/chronicle/venv/bin/chronicle"
            assert faults_of(shlex.join(words)) == []
    assert service["User"] == "chronicle"
    assert service["RestartPreventExitStatus"] == "2 3"


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return panels + [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]


def test_every_metric_of_dashboard_and_alerts_is_exported() -> None:
    source = (ROOT / "views" / "http" / "metrics.py").read_text()
    named = set(re.findall(r'"(chronicle_[a-z_]+)"', source))
    counters = {"chronicle_appends", "chronicle_http_appends"}
    histograms = {"chronicle_lookup_seconds"}
    exported = (named - counters - histograms) | {f"{name}_total" for name in counters}
    exported |= {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}
    used = {name for expression in expressions() for name in METRIC.findall(expression)}
    assert counters | histograms <= named
    assert used <= exported
    assert {name for name in exported if not name.endswith("_sum")} <= used, "a metric that no panel shows"


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_every_alert_leads_to_a_section_of_the_runbook() -> None:
    for rule in (rule for group in ALERTS["groups"] for rule in group["rules"]):
        page, _, section = rule["annotations"]["runbook"].partition("#")
        headings = re.findall(r"^#+ (.*)$", ROOT.joinpath(page).read_text(), re.MULTILINE)
        assert section in {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
