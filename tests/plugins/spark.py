"""The session with Delta that all tests of the lake share, started when the first of them asks for it.

It is Spark's own, or one on Sail with `--engine sail` (tests/lake/engine/test_sail.py runs the tests so).
"""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3

_QUICK = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
}
"""On some hundred rows Spark spends its time on adaptive plans, compiled expressions, and Delta's statistics: without
them the tests take a third less time. Delta's log store for local files starts no programs, as the usual one does.
`--proofs` runs the tests with Spark's and Delta's defaults.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of the engine."""
    parser.addoption(
        "--engine", choices=("spark", "sail"), default="spark", help="the engine that runs the tests of the lake"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that hold for the other engine only, and on Spark those of a slice on Sail."""
    engine = config.getoption("--engine")
    other = [item for item in items if any(mark.args != (engine,) for mark in item.iter_markers("engine"))]
    if engine == "spark" and not config.getoption("--proofs"):
        other += [item for item in items if item.get_closest_marker("on_sail")]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in other]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """Yield a session that is configured for little data."""
    engine = request.config.getoption("--engine")
    if engine == "spark":
        os.environ["JAVA_HOME"] = str(find_java(JavaNeed(platform=SPARK_3, lake=True)).path)
    scratch = tmp_path_factory.mktemp("spark")
    cores = 1 if engine == "spark" else 2  # so that Sail too splits its work
    session_options = Local(
        cores=cores,
        memory="1g",
        delta_package=SPARK_3.delta_package,
        scratch=str(scratch),
        brief=True,
        more={} if request.config.getoption("--proofs") else _QUICK,
    )
    with opened(session_options, engine) as session:
        yield session
