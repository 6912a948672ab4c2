"""Running Spark jobs on this machine with the unmodified OpenLineage listener.

The versions that belong together stand here and nowhere else. `listener_configuration` gives the properties with
which any Spark session reports to a receiver, `run_job` runs a script with them as a user would, by `spark-submit`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from local import leash
from local.java import JavaHome, find_java

SPARK_VERSION = "3.5.9"
LISTENER_VERSION = "1.53.0"
DELTA_VERSION = "3.3.3"  # 3.3.2's REPLACE TABLE AS throws on Spark 3.5.9
DELTA_PACKAGE = f"io.delta:delta-spark_2.12:{DELTA_VERSION}"
LISTENER_CLASS = "io.openlineage.spark.agent.OpenLineageSparkListener"
ENDPOINT = "/api/v1/lineage"

# What makes a session small and quiet on one machine: no web page, loopback only, few partitions (Delta's own
# log takes 50 by default), and a JVM tuned to start fast rather than to run long.
SMALL_SESSION = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.log.ref = log
appender.log.type = Console
appender.log.name = log
appender.log.target = SYSTEM_ERR
appender.log.layout.type = PatternLayout
appender.log.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
logger.jetty.name = org.sparkproject.jetty
logger.jetty.level = warn
logger.codegen.name = org.apache.spark.sql.catalyst.expressions.codegen
logger.codegen.level = warn
"""


def listener_package(version: str = LISTENER_VERSION) -> str:
    """Return the listener's Maven coordinates; the name has carried the Scala version since 1.9."""
    return f"io.openlineage:openlineage-spark_2.12:{version}"


def listener_configuration(
    url: str,
    *,
    key: str | None = None,
    namespace: str = "default",
    listener: str = LISTENER_VERSION,
    packages: Iterable[str] = (DELTA_PACKAGE,),
) -> dict[str, str]:
    """Return the Spark properties with which a session reports to the receiver at `url` (`http://127.0.0.1:7071`).

    `key` is the receiver's function key. It travels as a header: the listener drops a query string in the URL, and a
    header does not end up in access logs. `packages` are further Maven packages that the session needs. The
    properties are those of the listener's configuration page, transport type `http`.
    """
    properties = _with_listener(listener, packages, namespace) | {
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url.rstrip("/"),
        "spark.openlineage.transport.endpoint": ENDPOINT,
        # Twice the default: a cold receiver on a small machine must not cost an event.
        "spark.openlineage.transport.timeoutInMillis": "10000",
    }
    if key:
        properties["spark.openlineage.transport.headers.x-functions-key"] = key
    return properties


def file_configuration(
    events: Path,
    *,
    namespace: str = "default",
    listener: str = LISTENER_VERSION,
    packages: Iterable[str] = (DELTA_PACKAGE,),
) -> dict[str, str]:
    """Return the Spark properties with which a session appends its events to a file, one JSON text a line."""
    return _with_listener(listener, packages, namespace) | {
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
    }


def _with_listener(listener: str, packages: Iterable[str], namespace: str) -> dict[str, str]:
    return {
        "spark.jars.packages": ",".join((listener_package(listener), *packages)),
        "spark.extraListeners": LISTENER_CLASS,
        "spark.openlineage.namespace": namespace,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How a job ended: its exit code, what it printed, Spark's log, and in one sentence what went wrong, if anything.

    `unsent` counts events that the listener could not deliver: the job succeeds all the same.
    """

    exit_code: int
    output: str
    log: Path
    problem: str | None
    unsent: int


class SparkJob:
    """A script running under `spark-submit`, in its own process group; it ends with the process that started it.

    `with SparkJob(…) as job:` starts it; leaving the block ends it if it still runs, whatever the reason.

    `script` and `arguments` are what spark-submit gets, `configuration` the Spark properties, `directory` a
    folder of this job's own for its configuration, output and log. The properties are written to a file
    that only this user can read, so that a key is not seen in the list of processes. Raises NoJavaError.
    """

    def __init__(
        self,
        script: Path,
        *,
        configuration: Mapping[str, str],
        directory: Path,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        java: JavaHome | None = None,
    ) -> None:
        self._java = java or find_java()
        self._name = script.stem
        self._directory = directory.resolve()
        self.log = self._directory / "spark.log"
        self._output = self._directory / "output.txt"
        self._configure(configuration)
        spark_home = _spark_home()
        command = [
            sys.executable,
            "-I",
            leash.__file__,
            str(spark_home / "bin" / "spark-submit"),
            str(script.resolve()),
            *arguments,
        ]
        with self._output.open("wb") as output, self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - spark-submit of the pinned pyspark
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the starter alone, which ends the job by stop()
                env={
                    **(os.environ if environment is None else environment),
                    "JAVA_HOME": str(self._java.path),
                    "SPARK_HOME": str(spark_home),
                    "SPARK_CONF_DIR": str(self._directory),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "PYSPARK_PYTHON": sys.executable,
                    "PYSPARK_DRIVER_PYTHON": sys.executable,
                },
            )

    def __enter__(self) -> Self:
        """Return the job, which runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the job if it still runs."""
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the job has not ended yet."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the job and all it started; nothing happens when it has ended already."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def wait(self) -> JobResult:
        """Wait for the end of the job and say how it ended."""
        code = self._process.wait()
        log = self.log.read_text(errors="replace")
        output = _IVY_NOISE.sub("", self._output.read_text(errors="replace"))
        return JobResult(
            exit_code=code,
            output=output,
            log=self.log,
            problem=explain_failure(self._name, log, output, self.log) if code else None,
            unsent=log.count("Could not emit lineage"),
        )

    def _configure(self, configuration: Mapping[str, str]) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "log4j2.properties").write_text(_LOG4J)
        defaults = self._directory / "spark-defaults.conf"
        defaults.unlink(missing_ok=True)
        defaults.touch(mode=0o600)
        # Without a warehouse of its own a session makes a folder in the current directory.
        properties = {"spark.sql.warehouse.dir": str(self._directory / "warehouse"), **configuration}
        defaults.write_text("".join(f"{name} {_escaped(value)}\n" for name, value in properties.items()))


def _spark_home() -> Path:
    """Where pyspark is installed; found without importing it, which takes most of a second."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("pyspark is not installed: run `make setup`")
    return Path(found.origin).parent


def run_job(
    script: Path,
    *,
    configuration: Mapping[str, str],
    directory: Path,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    java: JavaHome | None = None,
) -> JobResult:
    """Run a script as SparkJob does and wait for its end. A Ctrl-C ends the job, then goes on."""
    with SparkJob(
        script,
        configuration=configuration,
        directory=directory,
        arguments=arguments,
        environment=environment,
        java=java,
    ) as job:
        return job.wait()


_IVY_NOISE = re.compile(r"^:: .*\n", re.MULTILINE)
_NO_NETWORK = re.compile(
    r"Host \S+ not found|UnknownHostException|Server access error|"
    r"Network is unreachable|Connection refused|[Tt]imed out",
)
_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s;#]+)#([^\s;]+);([^\s:]+)")
_LAST_ERROR = re.compile(r"^(?:: |Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)


def explain_failure(name: str, log: str, output: str, path: Path) -> str:
    """Say in one sentence why a job failed: packages that did not come, else the last error that is named.

    `log` is what spark-submit wrote to its standard error, `output` the rest: a Python job's traceback is there.
    """
    missing = sorted({":".join(found) for found in _UNRESOLVED.findall(log)})
    if missing:
        packages = " and ".join(missing)
        if _NO_NETWORK.search(log):
            return (
                f"Spark could not download {packages} from Maven Central: check the network "
                f"(what was downloaded once is kept in ~/.ivy2). Log: {path}"
            )
        return f"Maven Central has no {packages}: check the version. Log: {path}"
    errors = _LAST_ERROR.findall(output) or _LAST_ERROR.findall(log)
    reason = errors[-1] if errors else "its log does not say why"
    return f"The job {name} failed: {reason}. Log: {path}"


def _escaped(value: str) -> str:
    """Write a value as java.util.Properties reads it: a backslash starts an escape, a line break ends the value."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
