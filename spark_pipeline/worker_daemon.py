"""The Python daemon of a session of ours (`spark.python.daemon.module`): it imports what the lake's workers need before
they are forked from it. Else each of them takes seconds to do so, and Spark lets those that were idle for a minute go.
"""

import gc
import zipimport

import pandas as pd  # noqa: F401 - Arrow imports it for the first value that it makes
import pyspark.worker  # noqa: F401 - what a worker runs
from pyspark.daemon import manager

from spark_pipeline.pipeline import run  # noqa: F401 - all that works in workers

if __name__ == "__main__":
    # Every task is told to look for new modules, and Python reads the index of every zip on its path for that, Spark's
    # own among them: a tenth of a second, as long as many a task works. They do not change while a session lasts.
    setattr(zipimport.zipimporter, "invalidate_caches", lambda _: None)  # noqa: B010 - mypy takes no new method
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]  # Spark's own, without types
