"""Failures of publishing: entries are retried later with exponential backoff, and publishing pauses."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from zlib import crc32

from shared.errors import CatalogRefused, CatalogUnavailable, ContentLost
from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.process_telemetry import report_process
from shared.publishing.writing.catalog_write import Published, Refusal
from shared.records.publish_queue import QueueEntry, pause, put_queued, queue_entry
from shared.secrets import text_without_secrets
from shared.storage.port import Storage

_LOG = logging.getLogger("throughline.publish")
MAX_ERROR_LENGTH = 1000
_FIRST_DELAY = timedelta(minutes=1)
MAX_DELAY = timedelta(hours=6)
MAX_JITTER = 0.25
"""The share of a delay by which two entries may differ."""
_PAUSE_WITHOUT_ACCESS = 60.0
_LACKS_TYPE = (
    "The catalog lacks this type: `throughline types plan` names the rule, `throughline types apply` creates it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Puts queue entries off, and counts them in `done`."""

    storage: Storage
    options: PublishOptions
    done: Published

    def put_off(self, entry: QueueEntry, error: Exception, *, isolated: bool = False) -> None:
        """Retry an entry later: content that can't be read until `verify --fix` mended it, a refusal until it ends."""
        self.done.refused += 1
        later = replace(self._failed(entry, entry.attempts, error, _FIRST_DELAY), isolated=isolated)
        put_queued(self.storage, later)
        _LOG.error("process put off process=%s error=%s", entry.process, later.error)

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Retry what the catalog refused in a call of its own later, alone."""
        for each in refusals:
            entry = each.plan.queue_entry
            found = queue_entry(self.storage, entry.process)
            current = replace(found, attempts=entry.attempts) if found else entry
            self.put_off(current, each.error, isolated=True)
            report_process(self.options, each.plan, "refused", error_text(each.error))

    def isolate(self, batch: Iterable[QueueEntry], error: ContentLost) -> None:
        """Retry the entries of a batch that is still queued later, in smaller batches: the content of one of them can't
        be read.
        """
        for entry in batch:
            found = queue_entry(self.storage, entry.process)
            if found:
                self.put_off(replace(found, attempts=entry.attempts), error)

    def pause(self, batch: Sequence[QueueEntry], error: CatalogUnavailable | CatalogRefused, failures: int) -> None:
        """Pause publishing after so many failures in a row. Entries that may have caused the error are retried later
        than all others, so that one asset on which the catalog always fails can't block the rest.
        """
        wait = max(self.options.pause, timedelta(seconds=getattr(error, "after", _PAUSE_WITHOUT_ACCESS)))
        self.done.error = error_text(error)
        pause(self.storage, self.options.now() + wait, self.done.error, failures)
        for entry in batch if isinstance(error, CatalogUnavailable) and error.blames else ():
            found = queue_entry(self.storage, entry.process)
            if found:
                put_queued(self.storage, self._failed(found, entry.attempts, error, self.options.pause))
        _LOG.warning(
            "catalog unavailable pause=%.0fs batch=%d error=%s", wait.total_seconds(), len(batch), self.done.error
        )

    def _failed(self, entry: QueueEntry, attempts: int, error: Exception, delay: timedelta) -> QueueEntry:
        return replace(
            entry,
            due=self.options.now() + backoff(entry.process, attempts, delay),
            attempts=attempts + 1,
            error=error_text(error),
        )


def backoff(process: str, attempts: int, first: timedelta) -> timedelta:
    """The delay before the next attempt: doubled each time up to `MAX_DELAY`, less a share that depends on the process
    and the attempt alone (so that a run can be repeated exactly).
    """
    delay: timedelta = min(first * 2 ** min(attempts, 16), MAX_DELAY)
    return delay * (1 - MAX_JITTER * crc32(f"{process}{attempts}".encode()) / 2**32)


def error_text(error: Exception) -> str:
    """An error's text without secrets, for storage and logs: catalogs and proxies may quote a request."""
    text = text_without_secrets(str(error))[:MAX_ERROR_LENGTH]
    return f"{text}. {_LACKS_TYPE}" if isinstance(error, CatalogRefused) and error.unknown_type else text
