"""Cloud names on one machine: a Hadoop file system that maps abfss, wasbs and OneLake paths to a local folder."""

from functools import partial
from pathlib import Path

from tests.capture.javac import compile_java
from throughline.local.toolchain.java import JavaHome
from throughline.local.toolchain.stamp import install_once

_SOURCE = Path(__file__).parent / "CloudNames.java"
_SCHEMES = ("abfss", "wasbs")


def cloud_configuration(folder: Path, java: JavaHome, spark_home: Path) -> dict[str, str]:
    """Compile the file system against this Spark, once; return the properties that keep cloud paths in `folder`.

    Raises NoCompilerError: a Java runtime alone does not have `javac`.
    """
    hadoop = next((spark_home / "jars").glob("hadoop-client-api-*.jar"))
    classes = install_once(
        f"cloud_names_{hadoop.stem}_java{java.version}",
        (_SOURCE,),
        partial(compile_java, java, (_SOURCE,), str(hadoop)),
    )
    return {
        "spark.driver.extraClassPath": str(classes),
        "spark.hadoop.throughline.cloud.folder": str(folder / "cloud"),
    } | {f"spark.hadoop.fs.{scheme}.impl": "CloudNames" for scheme in _SCHEMES}
