"""One Spark session with Delta for all tests of the lake: started when the first of them asks for it."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from local.java import find_java
from local.versions import SPARK_3
from spark_pipeline.session import Local, local_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on one core, for little data."""
    os.environ.setdefault("JAVA_HOME", str(find_java().path))
    scratch = tmp_path_factory.mktemp("spark")
    how = Local(cores=1, memory="1g", delta_package=SPARK_3.delta_package, scratch=str(scratch), brief=True)
    session = local_session(how)
    yield session
    session.stop()
