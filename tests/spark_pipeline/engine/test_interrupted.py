"""A test that pytest-timeout interrupts within a call to Spark must cost only itself."""

import os
import signal
import threading

import pytest
from pyspark.sql import SparkSession

from tests.plugins.spark import reconnect

pytestmark = pytest.mark.engine("spark")


def test_the_session_works_after_an_interrupted_call(spark: SparkSession) -> None:
    """The next calls get their own answers, and the interrupted job no longer takes the only core."""
    # SIGALRM is pytest-timeout's own.
    before = signal.signal(signal.SIGUSR1, lambda *_: pytest.fail("interrupted"))
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(pytest.fail.Exception, match="interrupted"):
            spark.range(10**15).selectExpr("sum(hash(id))").collect()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
        reconnect()
    assert [spark.range(count).count() for count in (3, 5)] == [3, 5]
