"""The definition's Kafka options, which are those of the Java client, as kafka-python wants them.

Spark's source reads the topics with the Java client and this side with kafka-python, so an option must mean the same to
both: certificates are PEM files (`ssl.truststore.type: PEM`), which both can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka.errors import KafkaError

from chronicle.errors import ChronicleError, UsageError

PATIENCE_MS = 10_000
"""How long a command waits for the first answer of a cluster, unless `default.api.timeout.ms` says."""

_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "ssl.key.password": "ssl_password",
    "client.id": "client_id",
}
"""Options of other names are for the job's consumer and mean nothing here."""

_STORES = {"truststore": "ssl_cafile", "keystore": "ssl_certfile"}
_INLINE = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
_LOGIN = re.compile(r"(username|password)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s;]+))")


def client_options(servers: str, options: Mapping[str, str], patience_ms: int = PATIENCE_MS) -> dict[str, Any]:
    found: dict[str, Any] = {
        "bootstrap_servers": [server.strip() for server in servers.split(",")],
        "bootstrap_timeout_ms": min(patience_ms, patience_of(options)),
    }
    found |= {_NAMES[name]: value for name, value in options.items() if name in _NAMES}
    found |= _login(options.get("sasl.jaas.config", ""))
    found |= _stores(options)
    if "ssl.endpoint.identification.algorithm" in options:
        found["ssl_check_hostname"] = options["ssl.endpoint.identification.algorithm"] != ""
    return found


def patience_of(options: Mapping[str, str]) -> int:
    stated = options.get("default.api.timeout.ms", "")
    return int(stated) if stated.isdecimal() else PATIENCE_MS


def _login(jaas: str) -> dict[str, str]:
    login: dict[str, str] = {}
    for match in _LOGIN.finditer(jaas):
        quoted = re.sub(r"\\(.)", r"\1", match[2] or "")
        login[f"sasl_plain_{match[1]}"] = quoted or match[3] or match[4] or ""
    return login


def _stores(options: Mapping[str, str]) -> dict[str, str]:
    """The certificates that we trust and our own: files, and PEM."""
    for name in _INLINE:
        if name in options:
            store = name.split(".")[1]
            raise UsageError(f"{name}: only the job can read this", f"name a PEM file: ssl.{store}.location")
    found: dict[str, str] = {}
    for store, ours in _STORES.items():
        location = options.get(f"ssl.{store}.location")
        if location is None:
            continue
        form = options.get(f"ssl.{store}.type", "JKS").upper()
        if form != "PEM":
            raise UsageError(
                f"ssl.{store}.location: {location} is a {form} file, which only Java reads",
                f"write the certificates as PEM, and ssl.{store}.type: PEM",
            )
        if not Path(location).is_file():
            raise UsageError(f"ssl.{store}.location: there is no file {location}")
        found[ours] = location
    return found


@contextmanager
def explained(servers: str) -> Iterator[None]:
    """Kafka's errors as ours, saying which cluster they are about."""
    try:
        yield
    except KafkaError as error:
        name = type(error).__name__
        said = str(error).removeprefix(f"{name}: ") or name
        raise ChronicleError(
            f"Kafka at {servers}: {said}", "is the broker up, and are servers and options of `source` right?"
        ) from error
