"""The Helm chart: its rendered manifests are valid, complete, and call commands that exist.

The manifests stand rendered in the tree, because not every machine has Helm; they carry the digest of the chart that
they were made from, and where Helm is there they are rendered anew and compared.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from command_lines import ROOT, faults_of

from chronicle.definitions import load_text
from views.check import check
from views.http.keys import read_keys

HELM = ROOT / "deploy" / "helm"
MODES = {
    "embedded": ["mode=embedded"],
    "delta": ["mode=delta"],
    "bucket": ["mode=delta", "delta.state=s3a://billing/telecom"],
}
KUBERNETES = json.loads(Path(__file__).with_name("kubernetes-1.34.json").read_text())
OF_OPERATORS = {"SparkApplication", "ServiceMonitor"}
Manifest = dict[str, Any]


def manifests(mode: str) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for manifest in yaml.safe_load_all((HELM / "rendered" / f"{mode}.yaml").read_text()):
        found.setdefault(manifest["kind"], []).append(manifest)
    return found


def only(mode: str, kind: str) -> Manifest:
    (manifest,) = manifests(mode)[kind]
    return manifest


def chronicle_containers(mode: str) -> dict[str, Manifest]:
    return {each["name"]: each for each in only(mode, "Deployment")["spec"]["template"]["spec"]["containers"]}


def test_the_manifests_were_rendered_from_this_chart() -> None:
    """If this fails, the chart has changed since: run deploy/helm/render.sh."""
    files = [path for path in (HELM / "chronicle").rglob("*") if path.is_file()] + [HELM / "rendered" / "values.yaml"]
    now = {str(path.relative_to(HELM)): sha256(path.read_bytes()).hexdigest() for path in files}
    then = dict(reversed(line.split(maxsplit=1)) for line in (HELM / "rendered" / "made-from").read_text().splitlines())
    assert now == then


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("helm") is None, reason="no Helm (make helm); the digests say nothing has changed")
@pytest.mark.parametrize("mode", MODES)
def test_helm_renders_what_stands_here(mode: str) -> None:
    values = ["-f", "rendered/values.yaml", *(word for each in MODES[mode] for word in ("--set", each))]
    subprocess.run(["helm", "lint", "--strict", "chronicle", *values], cwd=HELM, check=True, capture_output=True)
    command = [
        "helm",
        "template",
        "telecom",
        "chronicle",
        "--namespace",
        "billing",
        "--kube-version",
        "1.34.1",
        *values,
    ]
    done = subprocess.run(command, cwd=HELM, check=True, capture_output=True, text=True)
    assert done.stdout == (HELM / "rendered" / f"{mode}.yaml").read_text()


@pytest.mark.parametrize("mode", MODES)
def test_every_manifest_fits_the_schema_of_its_kind(mode: str) -> None:
    for kind, each in manifests(mode).items():
        for manifest in each:
            if kind not in OF_OPERATORS:
                schema = KUBERNETES["kinds"][f"{manifest['apiVersion']}/{kind}"]
                jsonschema.validate(manifest, {**schema, "definitions": KUBERNETES["definitions"]})


def test_the_schema_refuses_a_key_that_kubernetes_does_not_have() -> None:
    deployment = only("embedded", "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    schema = {**KUBERNETES["kinds"]["apps/v1/Deployment"], "definitions": KUBERNETES["definitions"]}
    with pytest.raises(jsonschema.ValidationError, match="imagePullPolice"):
        jsonschema.validate(deployment, schema)


def test_each_mode_makes_what_it_needs_and_nothing_else() -> None:
    shared = {"ConfigMap", "Secret", "Service", "Deployment", "ServiceMonitor"}
    assert set(manifests("embedded")) == shared | {"PersistentVolumeClaim"}
    of_delta = {"SparkApplication", "HorizontalPodAutoscaler", "PodDisruptionBudget"}
    assert set(manifests("delta")) == set(manifests("bucket")) == shared | of_delta


@pytest.mark.parametrize("mode", MODES)
def test_containers_call_commands_and_flags_that_exist(mode: str) -> None:
    containers = chronicle_containers(mode)
    assert {each["args"][0] for each in containers.values()} == {
        "embedded": {"run", "serve"},
        "delta": {"follow", "serve"},
        "bucket": {"follow", "serve"},
    }[mode]
    for container in containers.values():
        assert faults_of(" ".join(container["args"])) == []


def test_the_spark_application_starts_the_job_of_the_image() -> None:
    spec = only("delta", "SparkApplication")["spec"]
    assert spec["mainApplicationFile"] == "local:///opt/chronicle/job.py"
    assert "deploy/job.py" in (ROOT / "deploy" / "image" / "Dockerfile").read_text()
    assert faults_of(" ".join(["run", *spec["arguments"]])) == []
    assert "--store=delta" in spec["arguments"]


def test_job_executors_and_lookups_mount_the_volume_that_holds_the_delta_state() -> None:
    """A state elsewhere would be on a disk that goes with its pod."""
    spec = only("delta", "SparkApplication")["spec"]
    pod = only("delta", "Deployment")["spec"]["template"]["spec"]
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in [*spec["volumes"], *pod["volumes"]]
        if volume["name"] == "shared"
    ]
    assert claims == ["chronicle-shared"] * 2
    for mounting in [spec["driver"], spec["executor"], *pod["containers"]]:
        assert "/shared" in {mount["mountPath"] for mount in mounting["volumeMounts"]}
    arguments = [spec["arguments"], *(container["args"] for container in pod["containers"])]
    assert all(any(word.startswith("--state=/shared/") for word in words) for words in arguments)


def test_a_state_in_a_bucket_needs_no_volume_and_every_container_has_the_environment() -> None:
    spec = only("bucket", "SparkApplication")["spec"]
    pod = only("bucket", "Deployment")["spec"]["template"]["spec"]
    assert "shared" not in {volume["name"] for volume in [*spec["volumes"], *pod["volumes"]]}
    for each in [spec["driver"], spec["executor"], *pod["containers"]]:
        assert "/shared" not in {mount["mountPath"] for mount in each["volumeMounts"]}
        assert each["envFrom"] == [{"secretRef": {"name": "kafka-credentials"}}]
    arguments = [spec["arguments"], *(container["args"] for container in pod["containers"])]
    assert all("--state=s3a://billing/telecom" in words for words in arguments)


@pytest.mark.parametrize(
    "state", ["hdfs://name/telecom", "s3a://key:secret@bucket/telecom", "/var/lib/telecom", "/shared/"]
)
def test_a_delta_state_off_the_shared_volume_and_off_a_bucket_is_refused_by_the_chart(state: str) -> None:
    schema = json.loads((HELM / "chronicle" / "values.schema.json").read_text())
    values = yaml.safe_load((HELM / "chronicle" / "values.yaml").read_text())
    jsonschema.validate(values, schema)
    values["delta"]["state"] = state
    with pytest.raises(jsonschema.ValidationError, match="does not match"):
        jsonschema.validate(values, schema)


def test_spark_pods_run_without_root() -> None:
    spec = only("delta", "SparkApplication")["spec"]
    assert {spec[side]["securityContext"]["runAsUser"] for side in ("driver", "executor")} == {10001}


@pytest.mark.parametrize("mode", MODES)
def test_pods_run_without_rights_and_mount_only_what_there_is(mode: str) -> None:
    pod = only(mode, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    assert only(mode, "ConfigMap")["metadata"]["name"] in {
        v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v
    }
    assert only(mode, "Secret")["metadata"]["name"] in {
        v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v
    }


@pytest.mark.parametrize("mode", MODES)
def test_selectors_find_the_lookups(mode: str) -> None:
    labels = only(mode, "Deployment")["spec"]["template"]["metadata"]["labels"]
    service = only(mode, "Service")
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["ports"][0]["targetPort"] in {
        port["name"] for port in chronicle_containers(mode)["lookups"]["ports"]
    }
    monitor = only(mode, "ServiceMonitor")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    credentials = monitor["endpoints"][0]["authorization"]["credentials"]
    assert credentials["key"] in only(mode, "Secret")["stringData"]
    if mode == "delta":
        assert only(mode, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
        target = only(mode, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        assert target["name"] == only(mode, "Deployment")["metadata"]["name"]


def test_the_embedded_state_has_one_writer_and_outlives_the_release() -> None:
    spec = only("embedded", "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    assert only("embedded", "PersistentVolumeClaim")["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@pytest.mark.parametrize("mode", MODES)
def test_the_definition_in_the_config_map_is_admitted(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in chronicle_containers(mode)["lookups"]["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    verdict = check(load_text(only(mode, "ConfigMap")["data"]["chronicle.yaml"]))
    assert set(verdict.admitted) == {"bill"}


def test_the_keys_file_of_the_secret_is_one(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(only("embedded", "Secret")["stringData"]["keys"])
    assert set(read_keys(path)) == {"shop", "prometheus"}


@pytest.mark.parametrize("mode", MODES)
def test_probes_ask_routes_that_are_open(mode: str) -> None:
    container = chronicle_containers(mode)["lookups"]
    asked = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    application = (ROOT / "views" / "http" / "app.py").read_text()
    assert asked == {"/live", "/ready"}
    assert all(re.search(rf'@router\.get\("{path}"', application) for path in asked)
