"""Bronze: every event once, with its text and what the core decoded from it.

Imports `tables` and `engine`.
"""

from spark_pipeline.bronze.decoded_events import contents, event_of, kept
from spark_pipeline.bronze.event_files import LARGEST_EVENT
from spark_pipeline.bronze.ingestion import ingest

__all__ = ["LARGEST_EVENT", "contents", "event_of", "ingest", "kept"]
