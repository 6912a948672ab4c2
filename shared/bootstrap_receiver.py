"""The receiver's composition root. It must be warm before Spark's five seconds are over, so it names what receiving
needs and nothing of catalog, translation or pipeline: `shared/bootstrap.py` has those.
"""

from functools import cache

from shared.adapters import StorageRetryPolicy, import_storage, storage_at, telemetry_to
from shared.errors import Misconfigured
from shared.ingest.receiver import Receiver, Redact
from shared.openlineage.selection import EventFilter, GlobFilter
from shared.settings.reading import load
from shared.settings.values import Patterns, Settings
from shared.storage.port import Storage
from shared.telemetry.port import SILENT, Acts, Telemetry, write_line

import_storage()  # while the worker starts: the first event must not wait for it

_QUICK = StorageRetryPolicy(tries=0, connect=1, read=1.5)
"""Spark waits for an answer, five seconds at most, and itself tries again after a 503."""


@cache
def receiver() -> Receiver:
    """The receiver of these functions. Raises Misconfigured."""
    settings = load(catalog=False)
    try:
        telemetry = telemetry_to(settings.telemetry)
    except Misconfigured:  # the parser reports it; wrong telemetry settings must not stop the receiver
        telemetry = Acts(write_line)
    return receiver_of(settings, receiver_storage(settings), telemetry)


def receiver_of(settings: Settings, storage: Storage, telemetry: Telemetry = SILENT) -> Receiver:
    """The receiver that these settings ask for, on this storage."""
    return Receiver(
        storage=storage,
        max_body_bytes=settings.max_body_bytes,
        selection=EventFilter(
            ignore=settings.operations_ignored,
            keep=settings.operations_kept,
            jobs=_choice(settings.jobs),
            namespaces=_choice(settings.namespaces),
        ),
        origin=settings.storage.origin,
        redact=_redact() if settings.redact else None,
        telemetry=telemetry,
    )


def receiver_storage(settings: Settings) -> Storage:
    """Storage that answers or fails soon."""
    return storage_at(settings.storage, _QUICK)


def _choice(patterns: Patterns) -> GlobFilter:
    return GlobFilter(include=patterns.include, exclude=patterns.exclude)


def _redact() -> Redact:
    from shared.redaction import redacted  # noqa: PLC0415 - slow to import, and needed only for redaction

    return redacted
