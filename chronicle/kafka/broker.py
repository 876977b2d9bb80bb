"""A real broker on this machine: Apache Kafka in KRaft mode from its jars, one node, loopback only."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from chronicle.errors import ChronicleError

_HOST = "127.0.0.1"
_START_SECONDS = 120
_STOP_SECONDS = 30
_POLL_SECONDS = 0.1
_PORTS = range(20_000, 32_000)
"""Below the ports that systems give to outgoing connections: while a broker restarts, nobody else gets its port, and a
client that tries it meanwhile cannot be connected with itself."""

_LOGGING = """log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.ConsoleAppender
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
"""


@dataclass(frozen=True, slots=True)
class Secured:
    """A second listener, with SASL/PLAIN over TLS: its certificate in a PKCS12 keystore, and who may log in."""

    keystore: Path
    password: str = field(repr=False)
    users: dict[str, str] = field(repr=False)


class Broker:
    """`start` returns when it answers; `stop` ends it, by its process id, and it can be started again where it was."""

    def __init__(self, directory: Path, jars: Path, port: int | None = None, secured: Secured | None = None) -> None:
        """Its data live in `directory`, new or from before."""
        self.log = directory / "broker.log"
        self._directory = directory
        self._jars = jars
        self._secured = secured
        ports = _free_ports(3)
        self._port = port or ports[0]
        self._controller, self._secured_port = ports[1:]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        return f"{_HOST}:{self._port}"

    @property
    def secured_servers(self) -> str:
        return f"{_HOST}:{self._secured_port}"

    def start(self) -> None:
        java = _java(self._jars, self._directory)
        if not _is_free(self._port):
            raise ChronicleError(f"port {self._port} is taken", "name another with --port, or none for a free one")
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "server.properties"
        properties.touch(mode=0o600)  # it has the passwords of the secured listener
        properties.write_text(self._properties())
        (self._directory / "log4j.properties").write_text(_LOGGING)
        with self.log.open("ab") as out:
            if not (self._directory / "data" / "meta.properties").exists():
                _format(java, properties, out.fileno(), self.log)
            # a group of its own: Ctrl-C on the terminal reaches us, and we stop the broker in order
            self._process = subprocess.Popen(
                [*java, "kafka.Kafka", properties], stdout=out, stderr=out, stdin=subprocess.DEVNULL, process_group=0
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def wait(self) -> int:
        """Waits until it ends by itself; its exit code."""
        return self._process.wait() if self._process else 0

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """Ends it as a power failure would: nothing is put in order."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _properties(self) -> str:
        """After a kill, a broker is let in again only when the session of the killed one is over; so it is short. Who
        tries out a compacted topic wants to see it compacted, and not to wait for the cleaner's 15 s."""
        controller = f"{_HOST}:{self._controller}"
        names = f"PLAINTEXT://{_HOST}:{self._port}"
        if self._secured:
            names += f",SASL_SSL://{_HOST}:{self._secured_port}"
        return f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
listeners={names},CONTROLLER://{controller}
advertised.listeners={names}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
log.dirs={self._directory.absolute() / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=4000
log.retention.ms=-1
log.cleaner.backoff.ms=500
{_secured_properties(self._secured) if self._secured else ""}"""

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if process.poll() is not None:
                raise ChronicleError(f"the broker ended at once: {_complaint(self.log)}", f"see {self.log}")
            if _answers(self.servers):
                return
            time.sleep(_POLL_SECONDS)
        raise ChronicleError(f"the broker does not answer after {_START_SECONDS} s", f"see {self.log}")


def _java(jars: Path, directory: Path) -> list[str | Path]:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        raise ChronicleError("a Kafka broker needs Java, and there is none", "install Java 17 or 21")
    if not any(jars.glob("kafka_*.jar")):
        raise ChronicleError(f"Kafka's jars are not in {jars}", "make jars (or set CHRONICLE_JARS to where they are)")
    logging = f"-Dlog4j.configuration=file:{directory.absolute()}/log4j.properties"
    return [program, "-Xmx512m", "-cp", f"{jars}/*", logging]


def _format(java: list[str | Path], properties: Path, out: int, log: Path) -> None:
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    command = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties]
    if subprocess.run(command, stdout=out, stderr=out, check=False).returncode:
        raise ChronicleError(f"Kafka could not prepare {properties.parent}: {_complaint(log)}", f"see {log}")


def _secured_properties(secured: Secured) -> str:
    users = "".join(f' user_{name}="{password}"' for name, password in secured.users.items())
    login = f"org.apache.kafka.common.security.plain.PlainLoginModule required{users};"
    return f"""ssl.keystore.type=PKCS12
ssl.keystore.location={secured.keystore.absolute()}
ssl.keystore.password={secured.password}
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={login}
"""


def _complaint(log: Path) -> str:
    """The last line of the log that says what went wrong; stack traces follow it."""
    lines = log.read_text(errors="replace").strip().splitlines()
    told = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception: " in line]
    return (told or lines or ["it said nothing"])[-1].strip()


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_PORTS)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does: old connections do not count
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True


def _answers(servers: str) -> bool:
    host, port = servers.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        admin = KafkaAdminClient(bootstrap_servers=servers)
    except (OSError, KafkaError):
        return False
    try:
        return bool(admin.describe_cluster()["brokers"])
    except KafkaError:
        return False
    finally:
        admin.close()
