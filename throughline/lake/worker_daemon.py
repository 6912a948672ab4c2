"""The Python daemon of the lake's session (`spark.python.daemon.module`). It imports what workers need before it forks
them: otherwise each worker takes seconds for it, and Spark ends workers that were idle for a minute.
"""

import gc
import zipimport

import pandas as pd  # noqa: F401 - Arrow imports it for the first value that it makes
import pyspark.worker  # noqa: F401 - what a worker runs
from pyspark.daemon import manager

from throughline.lake.pipeline import run  # noqa: F401 - all that works in workers

if __name__ == "__main__":
    # Every task invalidates the import caches, and Python then reads the index of every zip on its path, Spark's own
    # among them: a tenth of a second, as long as many a task takes. The zips do not change during a session.
    setattr(zipimport.zipimporter, "invalidate_caches", lambda _: None)  # noqa: B010 - mypy takes no new method
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]  # Spark's own, without types
