"""Process runs: load, merge, translate, store contributions, mark processes to be published; retries and the sweep.

Imports events and records.
"""

from shared.processing.application_cache import Lately
from shared.processing.processor import settle_event, settle_run
from shared.processing.sweeper import Sweeping, sweep

__all__ = [
    "Lately",
    "Sweeping",
    "settle_event",
    "settle_run",
    "sweep",
]
