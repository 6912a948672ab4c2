"""The composition root of the app that shows lineage: it reads published documents, and needs nothing else."""

from functools import cache
from pathlib import Path

from shared.adapters import StorageRetryPolicy, import_storage, storage_at, telemetry_to
from shared.gc_tuning import tune_gc
from shared.serving.service import LineageService
from shared.serving.shelf import PublishedDocuments
from shared.settings.reading import load
from shared.versions import PACKAGE_FILE

import_storage()  # while the worker starts: the first answer must not wait for it

_RETRIES = StorageRetryPolicy(tries=2, connect=2, read=10)
_FILE = Path(__file__).parents[1] / PACKAGE_FILE


@cache
def lineage_service() -> LineageService:
    """The service of this process. Raises Misconfigured."""
    settings = load(catalog=False)
    shelf = PublishedDocuments(storage_at(settings.storage, _RETRIES), telemetry=telemetry_to(settings.telemetry))
    tune_gc()
    return LineageService(shelf, _FILE.read_text(encoding="ascii") if _FILE.is_file() else "")
