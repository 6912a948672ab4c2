"""A session on this machine, on Spark or on Sail, that ends with what it was opened for."""

import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pyspark.sql import SparkSession

from spark_pipeline.session import DELTA, Local, local_session

_STDOUT, _STDERR = 1, 2
_INTERRUPTED = 130
"""How a process ends that Ctrl-C has stopped, as shells have it."""

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
    with _output_is_ours():
        session = local_session(how)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _output_is_ours() -> Iterator[None]:
    """A JVM that is begun meanwhile prints to stderr what it would print to stdout, which belongs to the command."""
    sys.stdout.flush()
    ours = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        yield
    finally:
        os.dup2(ours, _STDOUT)
        os.close(ours)


def _try_once(session: SparkSession) -> None:
    """Have no call tried again for minutes: a server in this process that does not answer was stopped by Ctrl-C."""
    client = session.client
    if hasattr(client, "set_retry_policies"):  # PySpark 4
        client.set_retry_policies([])
    else:
        vars(client)["_retry_policy"] |= {"max_retries": 0}


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
        _try_once(session)
        try:
            yield session
        except KeyboardInterrupt:
            # Sail stops by itself then, but Python's part of a query goes on in its threads, which abort the process,
            # with a dump, when they find it closing. The next run takes away what was put aside.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_INTERRUPTED)
        finally:
            session.stop()
    finally:
        server.stop()
