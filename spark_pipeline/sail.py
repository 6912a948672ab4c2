"""A session on Sail, an engine for Spark's DataFrames without Java, in this very process: a second to start, and its
queries take hundredths of a second where Spark's take tenths. https://docs.lakesail.com/sail/latest/reference/configuration
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from spark_pipeline.session import DELTA


@contextmanager
def sail_session(*, cores: int = 2, scratch: str = "") -> Iterator[SparkSession]:
    """A session that ends with the block. Raises ModuleNotFoundError where pysail is not installed.

    Once there was one, PySpark's functions in this process speak to such servers alone (before Spark 4).
    """
    settings = {
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": str(cores),
        "SAIL_RUNTIME__TEMPORARY_FILES__PATHS": f'["{scratch}"]' if scratch else "[]",
        "SAIL_TELEMETRY__EXPORT_LOGS": "false",
    }
    os.environ.update(settings)  # read when the server is made, and the only way to tell it
    from pysail.spark import SparkConnectServer  # noqa: PLC0415 - an extra, see docs/spark.md

    logging.getLogger("pyspark.sql.connect").setLevel(logging.ERROR)
    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        for name, value in DELTA.items():
            session.conf.set(name, value)
        try:
            yield session
        finally:
            session.stop()
    finally:
        server.stop()
