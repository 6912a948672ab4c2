"""A Spark session that keeps its events in a file instead of sending them."""

from collections.abc import Iterable
from pathlib import Path

from throughline.local.spark.job import listener_configuration
from throughline.local.toolchain.versions import LISTENER_VERSION, SPARK_3, Platform


def file_configuration(
    events: Path,
    *,
    namespace: str = "default",
    platform: Platform = SPARK_3,
    listener: str = LISTENER_VERSION,
    packages: Iterable[str] = (),
) -> dict[str, str]:
    """Return the Spark properties with which a session appends its events to a file, one JSON text per line."""
    properties = listener_configuration(
        "", namespace=namespace, platform=platform, listener=listener, packages=packages
    )
    return {name: value for name, value in properties.items() if ".transport." not in name} | {
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
    }
