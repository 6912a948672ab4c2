"""Process runs: load, merge, translate, store contributions, mark processes to be published; retries and the sweep.

Imports events and records.
"""

from shared.processing.application_cache import ApplicationCache
from shared.processing.processor import process_event, process_run
from shared.processing.sweeper import SweepOptions, sweep

__all__ = [
    "ApplicationCache",
    "SweepOptions",
    "process_event",
    "process_run",
    "sweep",
]
