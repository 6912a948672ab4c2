"""Open a session on this machine, on Spark or on Sail, that ends with its context."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from throughline.lake.engine.port import Engine
from throughline.lake.engine.sail import SailEngine, sail_session
from throughline.lake.engine.session import Local, local_session
from throughline.lake.engine.spark import SparkEngine
from throughline.lake.engine_choice import EngineName

_STDOUT, _STDERR = 1, 2


def engine_of(session: SparkSession) -> Engine:
    """The engine behind a session: Spark Connect means Sail, the only such server that the lake runs on."""
    return SailEngine(session) if ".connect." in type(session).__module__ else SparkEngine(session)


@contextmanager
def opened(local: Local, engine: str = EngineName.spark) -> Iterator[SparkSession]:
    """A session on `spark` or `sail` (see `sail_session`). For Spark, JAVA_HOME or the path must name a Java."""
    if engine == EngineName.sail:
        with sail_session(local) as session:
            yield session
        return
    with output_of_jvm(local.log):
        session = local_session(local)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def output_of_jvm(log: str) -> Iterator[None]:
    """A JVM that starts meanwhile writes its output to this file, or to stderr without one: stdout belongs to the
    command.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved_streams = {stream: os.dup(stream) for stream in (_STDOUT, _STDERR)}
    if log:
        target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(target, _STDERR)
        os.close(target)
    os.dup2(_STDERR, _STDOUT)
    try:
        yield
    finally:
        for stream, descriptor in saved_streams.items():
            os.dup2(descriptor, stream)
            os.close(descriptor)
