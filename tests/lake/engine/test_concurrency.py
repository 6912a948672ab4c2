"""Concurrent parts of a step: all of them are done, even if one fails."""

import os
import signal
import threading
import time

import pytest
from pyspark.sql import SparkSession

from tests.lake.files import OF_SPARK
from throughline.lake.engine.opening import engine_of
from throughline.lake.engine.port import together

pytestmark = OF_SPARK


def test_parts_run_at_the_same_time(spark: SparkSession) -> None:
    barrier = threading.Barrier(2, timeout=30)

    def counted(rows: int) -> int:
        barrier.wait()
        return spark.range(rows).count()

    assert together(engine_of(spark), lambda: counted(3), lambda: counted(4)) == (3, 4)


def test_an_error_of_one_part_is_raised_after_all_have_ended(spark: SparkSession) -> None:
    end_event = threading.Event()

    def fails() -> None:
        raise ValueError("no")

    def takes_longer() -> None:
        spark.range(10).count()
        end_event.set()

    with pytest.raises(ValueError, match="no"):
        together(engine_of(spark), fails, takes_longer)
    assert end_event.is_set()


def test_an_interrupt_waits_for_running_parts(spark: SparkSession) -> None:
    end_event = threading.Event()

    def writes() -> None:
        time.sleep(0.2)  # until all have begun
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        end_event.set()

    with pytest.raises(KeyboardInterrupt):
        together(engine_of(spark), writes)
    assert end_event.is_set()
