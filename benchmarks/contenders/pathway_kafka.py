"""Pathway from Kafka: goes on as `pathway_job` in an environment of its own, since its dependencies are not ours."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks.contenders.topic import DEFINITION
from chronicle.cli.machine import jar_directory
from chronicle.definitions import KafkaSource
from chronicle.project import Project


def main(work: Path) -> None:
    environment = jar_directory().parent / "pathway"
    if not (environment / ".ready").exists():
        print(json.dumps({"missing": "Pathway"}))
        return
    source = Project.load(work / DEFINITION).definition.source
    assert isinstance(source, KafkaSource)
    os.environ |= {"PATHWAY_THREADS": "2", "PATHWAY_TELEMETRY_SERVER": ""}
    module = ["-m", "benchmarks.contenders.pathway_job"]
    python = environment / "bin" / "python"
    os.execv(python, [str(python), *module, str(work), source.servers, *sys.argv[2:]])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
