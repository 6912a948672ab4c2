"""A temporary Kafka broker on loopback, without ZooKeeper; Spark's own Ivy downloads it from Maven Central once."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.capture.systems.serving import free_port, serving
from tests.capture.systems.system import System, SystemsError
from throughline.local.toolchain.interpreter import own
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3

VERSION = "3.9.1"
STABLE = "kafka.example:9092"
"""The broker's stable name in kept events."""

_PARTS = (("org.apache.kafka", "kafka_2.13", VERSION), ("org.slf4j", "slf4j-simple", "1.7.36"))
_CLUSTER = "dGhyb3VnaGxpbmUtLS0tMQ"  # any 16 bytes in base64

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@contextmanager
def kafka() -> Iterator[System]:
    """Run a broker that creates topics at their first use. The script gets `--kafka HOST:PORT`.

    Raises SystemsError, NoJavaError.
    """
    java = find_java(JavaNeed(platform=SPARK_3))
    jars = install_once("kafka", (Path(__file__),), _fetch) / "jars"
    program = [str(java.path / "bin" / "java"), "-Xmx256m", "-cp", f"{jars}/*"]
    with tempfile.TemporaryDirectory(prefix="throughline-kafka-") as name:
        port = free_port()
        properties = Path(name) / "server.properties"
        properties.write_text(_PROPERTIES.format(port=port, controller=free_port(), folder=name))
        _run([*program, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)])
        log = Path(name) / "kafka.log"
        with serving("Kafka", [*program, "kafka.Kafka", str(properties)], environment=os.environ, port=port, log=log):
            yield System(
                arguments=("--kafka", f"127.0.0.1:{port}"),
                stable_names={f"127.0.0.1:{port}": STABLE},
                versions={"kafka": VERSION},
            )


def _fetch(folder: Path) -> None:
    java = find_java(JavaNeed(platform=SPARK_3)).path / "bin" / "java"
    spark = own().spark_home / "jars" / "*"
    for organisation, module, version in _PARTS:
        retrieve = f"{folder}/jars/[artifact]-[revision].[ext]"
        options = ["-dependency", organisation, module, version, "-confs", "default", "-retrieve", retrieve]
        _run([str(java), "-cp", str(spark), "org.apache.ivy.Main", "-types", "jar", "bundle", *options])
    if not any((folder / "jars").glob("kafka_*.jar")):
        raise SystemsError(f"Kafka {VERSION} did not come from Maven Central: check the network.")


def _run(command: list[str]) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise SystemsError(f"`{' '.join(command)}` failed: {(outcome.stderr or outcome.stdout).strip()[-1000:]}")
