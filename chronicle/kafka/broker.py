"""A real broker on this machine: Apache Kafka in KRaft mode from its jars, one node, loopback only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from chronicle.errors import ChronicleError

_HOST = "127.0.0.1"
_START_SECONDS = 120
_STOP_SECONDS = 30

_LOGGING = """log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.ConsoleAppender
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
"""


class Broker:
    """A running broker; `stop` ends it, by its process id."""

    def __init__(self, process: subprocess.Popen[bytes], servers: str, log: Path) -> None:
        self.process = process
        self.servers = servers
        self.log = log

    def wait(self) -> int:
        return self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_broker(directory: Path, jars: Path, port: int | None = None) -> Broker:
    """Starts a broker with its data in `directory`, new or from before, and returns when it answers."""
    directory.mkdir(parents=True, exist_ok=True)
    java = _java(jars, directory)
    port = port or _free_port()
    properties = directory / "server.properties"
    properties.write_text(_properties(directory, port, _free_port()))
    (directory / "log4j.properties").write_text(_LOGGING)
    log = directory / "broker.log"
    with log.open("ab") as out:
        if not (directory / "data" / "meta.properties").exists():
            _format(java, properties, out.fileno(), log)
        # a group of its own: Ctrl-C on the terminal reaches us, and we stop the broker in order
        process = subprocess.Popen(
            [*java, "kafka.Kafka", properties], stdout=out, stderr=out, stdin=subprocess.DEVNULL, process_group=0
        )
    broker = Broker(process, f"{_HOST}:{port}", log)
    try:
        _wait_until_ready(broker)
    except BaseException:
        broker.stop()
        raise
    return broker


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
        raise ChronicleError(f"Kafka could not prepare {properties.parent}", f"see {log}")


def _properties(directory: Path, port: int, controller: int) -> str:
    return f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{_HOST}:{controller}
listeners=PLAINTEXT://{_HOST}:{port},CONTROLLER://{_HOST}:{controller}
advertised.listeners=PLAINTEXT://{_HOST}:{port}
controller.listener.names=CONTROLLER
log.dirs={directory.absolute() / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(broker: Broker) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if broker.process.poll() is not None:
            last = broker.log.read_text(errors="replace").strip().splitlines()[-1:]
            raise ChronicleError(f"the broker ended at once: {''.join(last)}", f"see {broker.log}")
        if _answers(broker.servers):
            return
        time.sleep(0.2)
    raise ChronicleError(f"the broker does not answer after {_START_SECONDS} s", f"see {broker.log}")


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
