"""What all tests share: the hypothesis profiles, one Spark session and one Kafka broker.

`default` is derandomised, so that a run is green or red for a reason in the tree; `deep` (make test-deep) draws anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from chronicle.cli.machine import jar_directory
from tests.brokers import _certificate, kafka_broker, kafka_secured, kafka_servers, own_broker, topic  # noqa: F401
from tests.object_store import _object_store, bucket_url, kept, object_store  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60, suppress_health_check=PATIENT)
settings.register_profile("deep", deadline=None, max_examples=10_000, suppress_health_check=PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A process has one JVM, started by whichever test needs Spark first: it has the connectors from the beginning.
_CONNECTORS = ",".join(map(str, sorted((jar_directory() / "spark").glob("*.jar"))))
if _CONNECTORS:
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--jars {_CONNECTORS} pyspark-shell")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local session for every test that asks Spark for a second opinion: ANSI, UTC, no UI."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("chronicle-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
