"""The output of `throughline config` for each platform, with real Spark and the unmodified listener.

The receiver accepts the key, and the lineage has the requested namespace. Only the platform's parts outside of Spark
are replaced: how the jar gets onto the class path, the store of secrets, a program `az`, a module `notebookutils`, a
class for Databricks' own listener. A front end before the real functions checks the key, as in Azure.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
import requests

from shared.reading.processes import recorded
from tests.support.local_world import parts_of, throughline, wait_until_idle
from tests.support.publishing import process_in
from throughline.cli.platforms.table import DATABRICKS_LISTENER
from throughline.local.spark.job import LISTENER_CLASS, QUICK_SESSION, SparkJob
from throughline.local.world import World
from throughline.plan_jar import JAR as PLAN_JAR
from throughline.plan_jar import LISTENER_CLASS as PLAN_LISTENER

pytestmark = pytest.mark.e2e
KEY = "k3y-of-this-platform"
HEADER = "x-functions-key"
SECRET = "{{secrets/throughline/throughline-key}}"  # noqa: S105 - where it is, not what it is
NOTEBOOKUTILS = f"""
class credentials:
    @staticmethod
    def getSecret(vault, name):
        assert (vault, name) == ("https://VAULT.vault.azure.net/", "throughline-key")
        return "{KEY}"
"""
JOB = Path(__file__).with_name("notebook.py")
RUNTIME = {"fabric": ("--runtime", "1.3")}
"""The runtime with the Spark of the tests; the default runtime has Spark 4."""


@dataclass(slots=True, kw_only=True)
class Front:
    """The address for listeners: forwards requests with the key, as Azure does, and records the others."""

    url: str
    namespaces: list[str] = field(default_factory=list)
    refused: int = 0


@pytest.fixture(scope="module")
def front(world: World) -> Iterator[Front]:
    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers[HEADER] != KEY:
                receiver_front.refused += 1
                self._answer(401, b"")
                return
            receiver_front.namespaces.append(msgspec.json.decode(body)["job"]["namespace"])
            kind = {"Content-Type": self.headers["Content-Type"]}
            answer = requests.post(f"{world.functions.url}{self.path}", data=body, headers=kind, timeout=30)
            self._answer(answer.status_code, answer.content)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
            """Keep the test's output free of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        receiver_front = Front(url=f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver_front
        server.shutdown()


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Spark with a configuration: the properties that a platform reads from the written file."""

    files: Path
    steps: str
    properties: Mapping[str, str]
    data: Path

    @property
    def plan_jar(self) -> Path:
        """The plan listener's jar, written beside the properties."""
        return self.files / PLAN_JAR

    @property
    def log(self) -> str:
        """The log of Spark's driver."""
        return (self.files / "job" / "spark.log").read_text()

    def run(self, *, more: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None) -> int:
        """Run the job; return the number of events that the listener could not deliver."""
        with SparkJob(
            JOB,
            configuration={**QUICK_SESSION, **self.properties, **(more or {})},
            directory=self.files / "job",
            arguments=[str(self.data)],
            environment={**os.environ, **(variables or {})},
        ) as job:
            result = job.wait(seconds=120)
        assert result.problem is None, result.problem
        return result.unsent


Configure = Callable[..., Platform]


@pytest.fixture
def configure(world: World, front: Front, tmp_path: Path) -> Configure:
    """Run `throughline config` as users do."""

    def run(platform: str, *options: str) -> Platform:
        arguments = ["config", platform, "--url", front.url, "--namespace", f"workspace-{tmp_path.name}"]
        result = throughline(world, *arguments, "--output", str(tmp_path), *options)
        assert result.exit_code == 0, result.output
        for step in re.findall(r"printf .* >> \S+", result.output):
            add_the_key(step, tmp_path)
        (file,) = tmp_path.glob("*.conf")
        lines = [line.partition(" ") for line in file.read_text().splitlines()]
        return Platform(
            files=tmp_path,
            steps=result.output,
            properties={name: value for name, _, value in lines},
            data=tmp_path / "data",
        )

    return run


def add_the_key(step: str, folder: Path) -> None:
    """Run the printed step in the folder of the files; `az` has the only secret."""
    az = folder / "bin" / "az"
    az.parent.mkdir()
    az.write_text(
        f'#!/bin/sh\ntest "$*" = "keyvault secret show --vault-name VAULT --name throughline-key '
        f'--query value -o tsv" && echo {KEY}\n'
    )
    az.chmod(0o755)
    path = f"{az.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-c", step], cwd=folder, env={"PATH": path}, check=True)


def processes_of(world: World, platform: Platform) -> list[str]:
    """Return the names of the processes of a platform's job, which contain the namespace, once all is processed."""
    assert wait_until_idle(world).reconciles
    parts = parts_of(world)
    processes = [
        process
        for process, entity in recorded(parts.storage, parts.publishing)
        if process.outputs[0].name == f"{platform.data}/loud"
        and process_in(parts.catalog, entity.qualified_name) == entity
    ]
    columns = {(edge.input.column, edge.output.column) for process in processes for edge in process.columns}
    assert columns == {("id", "id"), ("name", "loud")}
    return [process.qualified_name for process in processes]


def workspace_of(world: World, platform: Platform) -> dict[str, str]:
    """Return the job's workspace in the catalog."""
    (name,) = processes_of(world, platform)
    held_process = parts_of(world).catalog.read_processes([name])[name]
    return dict(held_process.entity.origin)


def assert_lineage_arrived(world: World, front: Front, platform: Platform) -> None:
    namespace = platform.properties["spark.openlineage.namespace"]
    assert front.namespaces.count(namespace) >= 4, "an application's and a write's START and COMPLETE"
    (process,) = processes_of(world, platform)
    assert namespace in process


@pytest.mark.proof  # test_bare_machine.py runs it in each `make test`
def test_a_local_session_sends_lineage(world: World, front: Front, configure: Configure) -> None:
    """With compiled expressions, as users' jobs run."""
    local = configure("local", "--key", KEY)
    assert local.run(more={"spark.sql.codegen.factoryMode": "FALLBACK"}) == 0
    assert_lineage_arrived(world, front, local)


def empty_listener_class(name: str) -> bytes:
    """Return the bytes of a Java class of this name that extends Spark's SparkListener and overrides nothing.

    Hand-written by the Java Virtual Machine Specification, chapter 4: a machine with only a Java runtime has no
    compiler.
    """

    def text(value: str) -> bytes:
        raw = value.encode()
        return struct.pack(">BH", 1, len(raw)) + raw

    class_path, superclass = name.replace(".", "/"), "org/apache/spark/scheduler/SparkListener"
    pool = (
        struct.pack(">BH", 7, 2),  # 1: this class
        text(class_path),
        struct.pack(">BH", 7, 4),  # 3: the class above
        text(superclass),
        text("<init>"),
        text("()V"),
        text("Code"),
        struct.pack(">BHH", 12, 5, 6),  # 8: name and type of the constructor
        struct.pack(">BHH", 10, 3, 8),  # 9: the constructor above
    )
    code = bytes([0x2A, 0xB7, 0x00, 0x09, 0xB1])  # aload_0, invokespecial 9, return
    body = struct.pack(">HHI", 1, 1, len(code)) + code + struct.pack(">HH", 0, 0)
    constructor = struct.pack(">HHHHHI", 1, 5, 6, 1, 7, len(body)) + body
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, len(pool) + 1) + b"".join(pool)
    shape = struct.pack(">HHHHH", 0x21, 1, 3, 0, 0)  # public, super; no interfaces, no fields
    return head + shape + struct.pack(">H", 1) + constructor + struct.pack(">H", 0)


@pytest.mark.parametrize("platform", ["synapse", pytest.param("fabric", marks=pytest.mark.proof)])
def test_a_pool_with_a_properties_file_and_the_added_key_sends_lineage(
    world: World, front: Front, configure: Configure, jar: Path, platform: str
) -> None:
    """The jars are configured in the pool or the Environment; everything else is in the file."""
    pool = configure(platform, *RUNTIME.get(platform, ()))
    assert jar.name in pool.steps
    synapse_properties = {"spark.synapse.workspace.name": "sales", "spark.synapse.context.notebookname": "Load"}
    added_properties = synapse_properties if platform == "synapse" else {}
    assert pool.run(more={"spark.driver.extraClassPath": f"{jar}:{pool.plan_jar}", **added_properties}) == 0
    assert_lineage_arrived(world, front, pool)
    if platform == "synapse":
        assert workspace_of(world, pool) == {"platform": "Synapse", "workspace": "sales", "job": "notebook Load"}


@pytest.mark.parametrize("platform", [pytest.param("databricks", marks=pytest.mark.proof), "databricks-uc"])
def test_a_cluster_with_init_script_and_secret_sends_lineage(
    world: World, front: Front, configure: Configure, jar: Path, platform: str
) -> None:
    """The driver's folders are local, and the secret is set as in a cluster; the listener detects Databricks."""
    cluster = configure(platform, "--folder", str(jar.parent))
    shutil.copy(cluster.plan_jar, jar.parent)
    driver = cluster.files / "driver"
    script = (cluster.files / "throughline-init.sh").read_text()
    for folder in ("/mnt/driver-daemon/jars/", "/databricks/driver/conf/"):
        (driver / folder.strip("/")).mkdir(parents=True)
        script = script.replace(f" {folder}", f" {driver}{folder}")
    subprocess.run(["bash", "-c", script], check=True)
    (defaults,) = (driver / "databricks/driver/conf").iterdir()
    secret = {name: KEY for name, value in cluster.properties.items() if value == SECRET}
    own_path = driver / "own" / f"{DATABRICKS_LISTENER.replace('.', '/')}.class"
    own_path.parent.mkdir(parents=True)
    own_path.write_bytes(empty_listener_class(DATABRICKS_LISTENER))
    added_properties = {
        **dict(re.findall(r'"([\w.]+)" = "([\w.,]+)"', defaults.read_text())),
        **secret,
        "spark.driver.extraClassPath": f"{driver}/mnt/driver-daemon/jars/*:{driver}/own",
        "spark.databricks.workspaceUrl": "adb-123.12.azuredatabricks.net",
    }
    assert cluster.run(more=added_properties, variables={"DATABRICKS_RUNTIME_VERSION": "14.3"}) == 0
    assert len(secret) == 1
    for listener in (DATABRICKS_LISTENER, LISTENER_CLASS, PLAN_LISTENER):
        assert f"Registered listener {listener}" in cluster.log
    assert_lineage_arrived(world, front, cluster)
    home = workspace_of(world, cluster)
    assert (home["platform"], home["workspace"]) == ("Databricks", "adb-123.12.azuredatabricks.net")
    assert home["link"].startswith("https://adb-123.12.azuredatabricks.net/")


def test_event_files_sent_by_a_notebook_become_lineage(
    world: World, front: Front, configure: Configure, jar: Path
) -> None:
    lakehouse = jar.parent.parent / "Files"
    lakehouse.mkdir()
    fabric = configure("fabric", *RUNTIME["fabric"], "--transport", "file", "--folder", str(lakehouse))
    assert fabric.run(more={"spark.driver.extraClassPath": f"{jar}:{fabric.plan_jar}"}) == 0
    namespace = fabric.properties["spark.openlineage.namespace"]
    assert namespace not in front.namespaces
    (fabric.files / "notebookutils.py").write_text(NOTEBOOKUTILS)
    for _ in range(2):  # as its schedule does
        count_before = len(front.namespaces)
        script = ["-c", (fabric.files / "pick_up.py").read_text()]
        environment = {**os.environ, "PYTHONPATH": str(fabric.files)}
        subprocess.run([sys.executable, *script], env=environment, check=True)
    assert len(front.namespaces) == count_before
    assert_lineage_arrived(world, front, fabric)


@pytest.mark.parametrize("headers", [{}, {HEADER: "another"}], ids=["no key", "another key"])
def test_requests_with_a_wrong_key_are_refused(front: Front, headers: dict[str, str]) -> None:
    """So the other tests show that their key was accepted."""
    refused_before = front.refused
    answer = requests.post(f"{front.url}/api/v1/lineage", data=b"{}", headers=headers, timeout=30)
    assert (answer.status_code, front.refused) == (401, refused_before + 1)


@pytest.mark.proof
def test_the_events_of_a_job_with_a_wrong_key_are_refused(front: Front, configure: Configure) -> None:
    local = configure("local", "--key", "another")
    refused_before = front.refused
    assert local.run() > 0
    assert front.refused > refused_before
    assert local.properties["spark.openlineage.namespace"] not in front.namespaces
