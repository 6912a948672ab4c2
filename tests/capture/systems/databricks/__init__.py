"""The parts of a Databricks cluster that a local session lacks: dbutils for the mounts, another Delta.

The listener recognizes Databricks by the variable DATABRICKS_RUNTIME_VERSION and the property
spark.databricks.workspaceUrl, which a scenario's job.json sets.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.capture.javac import NoCompilerError, compile_java
from tests.capture.systems.system import System, SystemsError
from throughline.local.toolchain.interpreter import own
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3

MOUNTS = {"/mnt/landing": "wasbs://landing@contoso.blob.core.windows.net/"}
_SOURCES = tuple(sorted(Path(__file__).parent.glob("*.java")))


@contextmanager
def databricks() -> Iterator[System]:
    """Put two classes before Spark's. Raises SystemsError without a Java compiler, NoJavaError."""
    classes = install_once("databricks_classes", (Path(__file__), *_SOURCES), _compile)
    mounts = ",".join(f"{point}={source}" for point, source in MOUNTS.items())
    yield System(
        configuration={
            "spark.driver.extraClassPath": str(classes),
            "spark.driver.extraJavaOptions": f"-Dthroughline.mounts={mounts}",
        },
    )


def _compile(classes: Path) -> None:
    # With names of parameters: the listener searches a constructor for `allowMountOperations`.
    java = find_java(JavaNeed(platform=SPARK_3, listener=True))
    try:
        compile_java(java, _SOURCES, str(own().spark_home / "jars" / "*"), classes)
    except NoCompilerError as error:
        raise SystemsError(str(error)) from error
