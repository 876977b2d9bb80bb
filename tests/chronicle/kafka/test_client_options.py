"""The options of a definition are those of the Java client."""

from __future__ import annotations

from chronicle.kafka.client import client_options


def test_a_login_of_the_java_client_is_understood() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="p=\\"x;";'
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    found = client_options("a:1, b:2", {**options, "max.poll.records": "5"})
    assert found == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ann",
        "sasl_plain_password": 'p="x;',
    }
