"""Real brokers for the tests: one for all of them, and one to stop and start for a test that needs to.

The shared one has a second listener with SASL/PLAIN over TLS, with a certificate made here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from chronicle.cli.machine import jar_directory
from chronicle.kafka.broker import Broker, Secured

_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
_PASSWORD = "kept in a test's directory"


@dataclass(frozen=True, slots=True)
class SecuredCluster:
    """What a definition says to reach the secured listener."""

    servers: str
    options: dict[str, str]

    def login(self, user: str, password: str) -> SecuredCluster:
        return SecuredCluster(self.servers, {**self.options, "sasl.jaas.config": _LOGIN.format(user, password)})


@pytest.fixture(scope="session")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The broker's keystore, and the certificate that clients trust, as PEM."""
    directory = tmp_path_factory.mktemp("certificate")
    keystore, pem = directory / "broker.p12", directory / "ca.pem"
    stored = ["-alias", "broker", "-keystore", keystore, "-storepass", _PASSWORD, "-storetype", "PKCS12"]
    named = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1,dns:localhost", "-ext", "bc=ca:true"]
    _keytool("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "30", *named, *stored)
    _keytool("-exportcert", "-rfc", "-file", pem, *stored)
    return keystore, pem


def _keytool(*arguments: str | Path) -> None:
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "keytool") if home else shutil.which("keytool")
    assert program is not None, "keytool comes with Java; there is none"
    subprocess.run([program, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory, _certificate: tuple[Path, Path]) -> Iterator[Broker]:
    """The broker that tests share: it is never stopped, and each test has topics of its own."""
    secured = Secured(_certificate[0], _PASSWORD, {"ann": "it's a secret"})
    broker = Broker(tmp_path_factory.mktemp("kafka"), jar_directory() / "kafka", secured=secured)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def kafka_servers(kafka_broker: Broker) -> str:
    return kafka_broker.servers


@pytest.fixture(scope="session")
def kafka_secured(kafka_broker: Broker, _certificate: tuple[Path, Path]) -> SecuredCluster:
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(_certificate[1])}
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", **trusted}
    return SecuredCluster(kafka_broker.secured_servers, options).login("ann", "it's a secret")


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker that the test may stop, kill and start again."""
    broker = Broker(tmp_path / "kafka", jar_directory() / "kafka")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return f"{request.node.originalname}-{uuid4().hex[:8]}"[-200:]
