"""The options of a definition are those of the Java client."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronicle.errors import UsageError
from chronicle.kafka.client import PATIENCE_MS, client_options


def test_a_login_of_the_java_client_is_understood() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="p=\\"x;";'
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    found = client_options("a:1, b:2", {**options, "max.poll.records": "5"})
    assert found == {
        "bootstrap_servers": ["a:1", "b:2"],
        "bootstrap_timeout_ms": PATIENCE_MS,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ann",
        "sasl_plain_password": 'p="x;',
    }


def test_certificates_are_pem_files_that_both_clients_read(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("...")
    location = {"ssl.truststore.location": str(tmp_path / "ca.pem")}
    found = client_options("a:1", {**location, "ssl.truststore.type": "PEM"})
    assert found["ssl_cafile"] == str(tmp_path / "ca.pem")
    with pytest.raises(UsageError, match=r"is a JKS file, which only Java reads") as caught:
        client_options("a:1", location)
    assert caught.value.hint == "write the certificates as PEM, and ssl.truststore.type: PEM"


def test_a_truststore_that_is_not_there_is_said(tmp_path: Path) -> None:
    options = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tmp_path / "none.pem")}
    with pytest.raises(UsageError, match=r"ssl.truststore.location: there is no file"):
        client_options("a:1", options)


def test_certificates_inside_the_definition_are_refused_not_ignored() -> None:
    with pytest.raises(UsageError, match=r"only the job can read this"):
        client_options("a:1", {"ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----"})
