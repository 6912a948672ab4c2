"""The engine behind PySpark: sessions, files, ordered row streams, and what Spark and Sail do differently.

Imports nothing else of the pipeline.
"""

from spark_pipeline.engine.arrow import BATCH_BYTES, following, grouped, schema_of, stream
from spark_pipeline.engine.arrow_cells import Record, Row
from spark_pipeline.engine.concurrency import together
from spark_pipeline.engine.opening import engine_of, opened
from spark_pipeline.engine.port import LISTING_TASKS_PER_CORE, SMALL_ROW_BYTES, Engine
from spark_pipeline.engine.session import Local, has_delta, prepare

__all__ = [
    "BATCH_BYTES",
    "LISTING_TASKS_PER_CORE",
    "SMALL_ROW_BYTES",
    "Engine",
    "Local",
    "Record",
    "Row",
    "engine_of",
    "following",
    "grouped",
    "has_delta",
    "opened",
    "prepare",
    "schema_of",
    "stream",
    "together",
]
