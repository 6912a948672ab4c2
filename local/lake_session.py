"""A session on this machine, on Spark or on Sail, that ends with what it was opened for."""

import importlib.util
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pyspark.sql import SparkSession

from spark_pipeline.session import DELTA, Local, local_session

EngineName = Literal["spark", "sail"]

_SAIL = {
    "SAIL_PARQUET__PUSHDOWN_FILTERS": "true",  # wide columns are read of the rows that are wanted only
    "SAIL_SPARK__SESSION_TIMEOUT_SECS": "86400",  # whoever publishes for hours asks nothing meanwhile
}


@contextmanager
def opened(how: Local, engine: EngineName = "spark") -> Iterator[SparkSession]:
    """The session; of what `how` says Sail takes `cores` and `scratch`, and has Delta in itself.

    With Spark, Java must be found by JAVA_HOME or on the path. With Sail, PySpark 3.5 speaks in this process to no
    other engine afterwards; raises ModuleNotFoundError where pysail is missing.
    """
    if engine == "sail":
        with _sail(how) as session:
            yield session
        return
    session = local_session(how)
    try:
        yield session
    finally:
        session.stop()


def has_sail() -> bool:
    """Whether Sail is installed, with what PySpark needs to speak to it."""
    return all(importlib.util.find_spec(name) for name in ("pysail", "grpc", "grpc_status"))


@contextmanager
def _sail(how: Local) -> Iterator[SparkSession]:
    """Sail is an engine for Spark's DataFrames without Java, and runs in this very process: it is there within a
    second, and its queries take hundredths of a second where Spark's take tenths. Its settings are variables of the
    environment (https://docs.lakesail.com/sail/latest/reference/configuration), read when a server is made.
    """
    os.environ |= _SAIL | {"SAIL_EXECUTION__DEFAULT_PARALLELISM": str(how.cores)}
    if how.scratch:
        os.environ["SAIL_RUNTIME__TEMPORARY_FILES__PATHS"] = f'["{how.scratch}"]'
    os.environ.setdefault("RUST_LOG", "error")
    from pysail.spark import (  # type: ignore[import-untyped]  # noqa: PLC0415 - no types; needed for this engine alone
        SparkConnectServer,
    )

    logging.getLogger("pyspark.sql.connect").setLevel(logging.CRITICAL)  # it logs what it raises
    server = SparkConnectServer("127.0.0.1", 0)
    server.start()
    try:
        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
        for name, value in DELTA.items():
            session.conf.set(name, value)
        # PySpark 3.5 writes every plan as text for its log, kept or not: a tenth of the time of a small run
        vars(session.client)["_proto_to_string"] = lambda _: ""
        try:
            yield session
        finally:
            session.stop()
    finally:
        server.stop()
