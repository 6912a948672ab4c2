"""The matching versions of Spark, Delta, Iceberg and the listener; no other file defines them."""

from dataclasses import dataclass

LISTENER_VERSION = "1.53.0"
LISTENER_VERSIONS = ("1.12.0", "1.25.0", "1.37.0", LISTENER_VERSION)
"""The listener's versions with different forms of events, the newest last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A version of Spark with its Scala version, and the versions of the packages that run on it.

    `kafka` is Spark's own connector, which is not released for every version of Spark. `java` are the versions of Java
    that run it, up to `newest_arrow_java` also with its Arrow; `adds_vector_module`: its launcher adds the module
    jdk.incubator.vector to Java.
    """

    spark: str
    scala: str
    delta: str
    iceberg: str
    delta_artifact: str
    kafka: str
    java: tuple[int, ...]
    newest_arrow_java: int
    adds_vector_module: bool

    @property
    def short(self) -> str:
        """The short version for users: `3.5` of 3.5.9."""
        return ".".join(self.spark.split(".")[:2])

    @property
    def major(self) -> str:
        """`3` of 3.5.9."""
        return self.spark.partition(".")[0]

    @property
    def delta_package(self) -> str:
        """Delta's Maven coordinates."""
        return f"io.delta:{self.delta_artifact}:{self.delta}"

    def listener_package(self, version: str = LISTENER_VERSION) -> str:
        """The listener's Maven coordinates; the name has carried the Scala version since 1.9."""
        return f"io.openlineage:openlineage-spark_{self.scala}:{version}"


SPARK_3 = Platform(
    spark="3.5.9",
    scala="2.12",
    delta="3.3.3",  # 3.3.2's REPLACE TABLE AS throws on Spark 3.5.9
    iceberg="1.10.2",
    delta_artifact="delta-spark_2.12",
    kafka="3.5.1",
    java=(8, 11, 17, 21),  # its "Downloading" page names 8, 11 and 17; 21 runs the scenarios too
    newest_arrow_java=17,  # its Arrow 12 calls a constructor of DirectByteBuffer that Java 21 changed
    adds_vector_module=False,
)
SPARK_4 = Platform(
    spark="4.1.4",
    scala="2.13",
    delta="4.4.0",  # 4.1.0 needs a class that Spark 4.1.4 has moved
    iceberg="1.11.0",
    delta_artifact="delta-spark_4.1_2.13",  # the one without 4.1 is for a later Spark
    kafka="4.1.1",
    java=(17, 21),
    newest_arrow_java=21,
    adds_vector_module=True,
)
PLATFORMS = {platform.short: platform for platform in (SPARK_3, SPARK_4)}
