"""The published documents, as the app of the page and the API reads them: the newest, and one of an earlier day.

A newer document is read in a thread of its own, while requests get the one before; one that cannot be read leaves the
last good one served, and each answer names the reason.
"""

import gzip
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Protocol

from shared.errors import StorageUnavailable
from shared.lineage.document import UnreadableDocumentError, decoded
from shared.lineage.graph import document_at
from shared.serving.view import LineageView
from shared.storage.port import Storage
from shared.storage_layout import DAILY, NEWEST, PUBLISHED, daily_document
from shared.telemetry.kinds import DOCUMENT_READ
from shared.telemetry.port import SILENT, Telemetry


class NotPublishedError(LookupError):
    """There is no document, or none that is old enough; the message says what to do."""


class NotReadableError(Exception):
    """No document could be read yet; the message says why."""


class Shelf(Protocol):
    """Where documents come from. `problem`: why the newest is an older one; empty if it is not."""

    @property
    def problem(self) -> str:
        """See above."""

    def newest(self) -> LineageView:
        """The newest document. Raises NotPublishedError and NotReadableError."""

    def of(self, day: date) -> LineageView:
        """The document as it was at the end of a day. Raises NotPublishedError and NotReadableError."""

    def days(self) -> tuple[date, ...]:
        """The days with a document of their own, sorted. Raises NotReadableError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDocument:
    """A document in memory; the earlier ones are its own history, where it has one."""

    view: LineageView
    problem: str = ""

    def newest(self) -> LineageView:
        """The document."""
        return self.view

    def of(self, day: date) -> LineageView:
        """As the protocol says."""
        document = self.view.document
        if not document.history:
            raise NotPublishedError(
                f"this document has no state of {day}: a lake has a history, and the app at an address keeps one a day"
            )
        end = datetime.combine(day, time_of_day.max, tzinfo=UTC)
        return LineageView(document_at(document, end), f"{self.view.name} {day}", title=f"Lineage of {day}")

    def days(self) -> tuple[date, ...]:
        """The days of changes."""
        document = self.view.document
        return tuple(sorted({moment.date() for moment in document.times})) if document.history else ()


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="document", daemon=True).start()


class PublishedDocuments:
    """The documents in a storage. It asks for a newer one after `every` seconds, at the next request.

    `start` runs a piece of work beside the requests.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        every: float = 15.0,
        seconds: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] = _in_thread,
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._storage, self._every = storage, every
        self._seconds, self._start, self._telemetry = seconds, start, telemetry
        self._reading, self._past_reading = threading.Lock(), threading.Lock()
        self._due = 0.0
        self._newest: LineageView | None = None
        self._past: LineageView | None = None
        self._reported = ""
        self.problem = ""

    def newest(self) -> LineageView:
        """As the protocol says."""
        if self._newest is None:
            with self._reading:
                if self._newest is None:
                    self._read()
                    self._due = self._seconds() + self._every
        elif self._seconds() >= self._due:
            self._due = self._seconds() + self._every
            self._start(self._refresh)
        self._report()
        if self._newest is None:
            raise NotReadableError(self.problem) if self.problem else NotPublishedError(_NOT_PUBLISHED)
        return self._newest

    def _report(self) -> None:
        """Report a new problem: in the thread of a request, because the functions host drops lines of others."""
        problem = self.problem
        if problem and problem != self._reported:
            self._telemetry.report(DOCUMENT_READ, state="unreadable", reason=problem)
        self._reported = problem

    def _refresh(self) -> None:
        if self._reading.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._reading.release()

    def _read(self) -> None:
        """Read the newest document if it is another one."""
        try:
            names = [fact.name for fact in self._storage.blobs(PUBLISHED, NEWEST)]
            if names and (self._newest is None or self._newest.name != names[-1]):
                self._newest = self._view(names[-1])
            self.problem = ""
        except _PROBLEMS as error:
            self.problem = f"the newest document cannot be read: {error}"

    def _view(self, name: str, *, title: str = "Lineage") -> LineageView:
        content = self._storage.get(PUBLISHED, name)
        if content is None:
            raise FileNotFoundError(f"{name} is gone")
        return LineageView(decoded(gzip.decompress(content)), name, title=title)

    def days(self) -> tuple[date, ...]:
        """As the protocol says."""
        try:
            names = [fact.name for fact in self._storage.blobs(PUBLISHED, DAILY)]
        except StorageUnavailable as error:
            raise NotReadableError(str(error)) from error
        return tuple(date.fromisoformat(name.removeprefix(DAILY).partition(".")[0]) for name in names)

    def of(self, day: date) -> LineageView:
        """As the protocol says."""
        newest = self.newest()
        if day >= date.fromisoformat(newest.name.removeprefix(NEWEST)[:_DAY]):
            return newest
        days = self.days()
        candidates = [candidate for candidate in days if candidate <= day]
        if not candidates:
            first = f"the first one is of {days[0]}" if days else "there is none of an earlier day yet"
            raise NotPublishedError(f"there is no document of {day} or before: {first}")
        name = daily_document(candidates[-1])
        with self._past_reading:
            if self._past is None or self._past.name != name:
                self._past = None  # two of these are not held at a time
                try:
                    self._past = self._view(name, title=f"Lineage of {day}")
                except _PROBLEMS as error:
                    raise NotReadableError(f"the document of {candidates[-1]} cannot be read: {error}") from error
            return self._past


_PROBLEMS = (StorageUnavailable, UnreadableDocumentError, OSError, EOFError, zlib.error)
_DAY = len("20261126")
_NOT_PUBLISHED = (
    "no document is published yet: the sweeper publishes one within a minute after the first lineage, if"
    " THROUGHLINE_DOCUMENT is true"
)
