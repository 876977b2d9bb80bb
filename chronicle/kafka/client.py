"""The definition's Kafka options, which are those of the Java client, as kafka-python wants them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaError

from chronicle.errors import ChronicleError

_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.ca.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "client.id": "client_id",
}
"""Options of other names are for the job's consumer and mean nothing here."""

_LOGIN = re.compile(r"(username|password)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s;]+))")


def client_options(servers: str, options: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap_servers": [server.strip() for server in servers.split(",")]}
    found |= {_NAMES[name]: value for name, value in options.items() if name in _NAMES}
    for match in _LOGIN.finditer(options.get("sasl.jaas.config", "")):
        quoted = re.sub(r"\\(.)", r"\1", match[2] or "")
        found[f"sasl_plain_{match[1]}"] = quoted or match[3] or match[4] or ""
    if "ssl.endpoint.identification.algorithm" in options:
        found["ssl_check_hostname"] = options["ssl.endpoint.identification.algorithm"] != ""
    return found


@contextmanager
def explained(servers: str) -> Iterator[None]:
    """Kafka's errors as ours, saying which cluster they are about."""
    try:
        yield
    except KafkaError as error:
        said = str(error) or type(error).__name__
        raise ChronicleError(
            f"Kafka at {servers}: {said}", "is the broker up, and are servers and options of `source` right?"
        ) from error
