"""Running Spark jobs on this machine with the unmodified OpenLineage listener.

`listener_configuration` returns the properties with which any Spark session reports to a receiver; `SparkJob` runs a
script with them by `spark-submit`, as users do.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from throughline.local.process.leashed import Leashed
from throughline.local.spark.failure import explain_endless, explain_failure, without_noise
from throughline.local.toolchain.interpreter import Interpreter, own
from throughline.local.toolchain.java import JavaHome, JavaNeed, find_java
from throughline.local.toolchain.versions import LISTENER_VERSION, SPARK_3, Platform

LISTENER_CLASS = "io.openlineage.spark.agent.OpenLineageSparkListener"
ENDPOINT = "/api/v1/lineage"
PATIENCE_SECONDS = 600.0
"""The default time limit of a job: our longest one takes a tenth of it on a small machine."""

# A small and quiet session on one machine: no web page, loopback only, few partitions (Delta's own log has 50 by
# default), and a JVM tuned for a fast start. Verifying the bytecode of Spark's own jars takes a seventh of the CPU time
# of a short job; all code here is downloaded by its hash or compiled here, and tests/spark_listener verifies
# throughline-plan.jar.
SMALL_SESSION = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": (
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}
QUICK_SESSION = {**SMALL_SESSION, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""SMALL_SESSION without compiled expressions, for jobs on a few rows that show lineage, which does not depend on them:
they take a sixth of such a job's time.
"""

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


def listener_configuration(
    url: str,
    *,
    key: str | None = None,
    namespace: str = "default",
    platform: Platform = SPARK_3,
    listener: str = LISTENER_VERSION,
    packages: Iterable[str] = (),
) -> dict[str, str]:
    """Return the Spark properties with which a session reports to the receiver at `url` (`http://127.0.0.1:7071`).

    `key` is the receiver's function key, sent as a header: the listener drops a query string in the URL, and access
    logs don't contain headers. `packages` are Maven packages that the session needs besides the listener and Delta. The
    properties are documented on the listener's configuration page, transport `http`.
    """
    properties = {
        "spark.jars.packages": ",".join((platform.listener_package(listener), platform.delta_package, *packages)),
        "spark.extraListeners": LISTENER_CLASS,
        "spark.openlineage.namespace": namespace,
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url.rstrip("/"),
        "spark.openlineage.transport.endpoint": ENDPOINT,
        # Twice the default, so that a cold receiver on a small machine loses no event.
        "spark.openlineage.transport.timeoutInMillis": "10000",
    }
    if key:
        properties["spark.openlineage.transport.headers.x-functions-key"] = key
    return properties


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The result of a job: exit code, output, Spark's log, and the problem in one sentence, if any.

    `unsent` counts the events that the listener could not deliver, which does not make the job fail.
    """

    exit_code: int
    output: str
    log: Path
    problem: str | None
    unsent: int


class SparkJob:
    """A script running under `spark-submit`, in its own process group; it ends with the process that started it.

    `with SparkJob(…) as job:` starts it; leaving the block ends it if it still runs.

    `script` and `arguments` go to spark-submit; `configuration` are the Spark properties; `directory` is this job's own
    folder for its configuration, output and log. The properties are written to a file that only this user can read, so
    that the list of processes shows no key. `interpreter` is the Python and Spark that run it, by default this
    process's own. Raises NoJavaError, InterpreterError.
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
        interpreter: Interpreter | None = None,
    ) -> None:
        java = java or find_java(JavaNeed(platform=SPARK_3, listener=True))
        interpreter = interpreter or own()
        self._name = script.stem
        self._directory = directory.resolve()
        self.log = self._directory / "spark.log"
        self._output = self._directory / "output.txt"
        self._configure(configuration)
        self._command = Leashed(
            [str(interpreter.spark_home / "bin" / "spark-submit"), str(script.resolve()), *arguments],
            output=self._output,
            log=self.log,
            environment={
                **(os.environ if environment is None else environment),
                "JAVA_HOME": str(java.path),
                "SPARK_HOME": str(interpreter.spark_home),
                "SPARK_CONF_DIR": str(self._directory),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": str(interpreter.python),
                "PYSPARK_DRIVER_PYTHON": str(interpreter.python),
            },
        )

    def __enter__(self) -> Self:
        """Return the running job."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the job if it still runs."""
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the job has not ended yet."""
        return self._command.running

    def stop(self) -> None:
        """End the job and all it started. Does nothing when it has ended."""
        self._command.stop()

    def wait(self, *, seconds: float = PATIENCE_SECONDS) -> JobResult:
        """Wait for the end of the job and return its result. A job that exceeds `seconds` is stopped and has failed."""
        problem = None
        code = self._command.wait(seconds)
        if code is None:
            problem = explain_endless(self._name, seconds, self._command.parent_pid, self._output, self.log)
            code = self._command.stop()
        log = self.log.read_text(errors="replace")
        output = without_noise(self._output.read_text(errors="replace"))
        if code and problem is None:
            problem = explain_failure(self._name, log, output, self.log)
        return JobResult(
            exit_code=code, output=output, log=self.log, problem=problem, unsent=log.count("Could not emit lineage")
        )

    def _configure(self, configuration: Mapping[str, str]) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "log4j2.properties").write_text(_LOG4J)
        defaults = self._directory / "spark-defaults.conf"
        defaults.unlink(missing_ok=True)
        defaults.touch(mode=0o600)
        # Without a warehouse of its own a session creates a folder in the current directory.
        properties = {"spark.sql.warehouse.dir": str(self._directory / "warehouse"), **configuration}
        defaults.write_text("".join(f"{name} {_escaped(value)}\n" for name, value in properties.items()))


def _escaped(value: str) -> str:
    """Escape a value for java.util.Properties: a backslash starts an escape, a line break ends the value."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
