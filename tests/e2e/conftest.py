"""For the tests of this folder: a whole world (real functions, real Azurite, the local catalog), the listener's jar."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from throughline.local.spark.job import QUICK_SESSION, SparkJob
from throughline.local.toolchain.versions import LISTENER_VERSION, SPARK_3
from throughline.local.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A new world on free ports, shared by the tests of one file."""
    home: Path = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False) as running:
        yield running


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The listener's jar from Maven Central, downloaded by Spark's own mechanism."""
    folder = tmp_path_factory.mktemp("jar")
    kept_path = (
        Path.home() / ".ivy2" / "jars" / f"io.openlineage_openlineage-spark_{SPARK_3.scala}-{LISTENER_VERSION}.jar"
    )
    if not kept_path.exists():
        (folder / "nothing.py").touch()
        configuration = {**QUICK_SESSION, "spark.jars.packages": SPARK_3.listener_package()}
        with SparkJob(folder / "nothing.py", configuration=configuration, directory=folder) as job:
            assert job.wait().problem is None
    return Path(shutil.copyfile(kept_path, folder / kept_path.name.removeprefix("io.openlineage_")))
