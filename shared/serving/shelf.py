"""The published documents, as the app of the page and the API reads them: the newest, and one of an earlier day.

A newer document is read in a thread of its own, while requests get the one before; one that cannot be read leaves the
last good one served, and each answer names the reason.
"""

import gzip
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Protocol

from shared.errors import StorageUnavailable
from shared.lineage.days import restored
from shared.lineage.document import LineageDocument, UnreadableDocumentError, decoded
from shared.lineage.graph import document_at
from shared.serving.view import LineageView
from shared.storage.port import Storage
from shared.storage_layout import DAILY, NEWEST, PUBLISHED, daily_document, day_of_document
from shared.telemetry.port import DOCUMENT_READ, SILENT, Telemetry


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
        """The document as it was at the end of a day; where that cannot be read, the last good one before, whose
        `problem` says so. Raises NotPublishedError and NotReadableError.
        """

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
        self._past: tuple[str, LineageView] | None = None  # with the name of the blob that was asked for
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
        if self.problem != self._reported:
            self._reported = self.problem
            self._report(self.problem)
        if self._newest is None:
            raise NotReadableError(self.problem) if self.problem else NotPublishedError(_NOT_PUBLISHED)
        return self._newest

    def _report(self, problem: str) -> None:
        """Report a problem: in the thread of a request, because the functions host drops lines of others."""
        if problem:
            self._telemetry.report(DOCUMENT_READ, state="unreadable", reason=problem)

    def _refresh(self) -> None:
        if self._reading.acquire(blocking=False):
            try:
                self._read()
            finally:
                self._reading.release()

    def _read(self) -> None:
        """Read the newest document if it is another one. If it cannot be read, and none is in memory, the one before is
        served, or that of the last good day.
        """
        names: list[str] = []
        try:
            names = [fact.name for fact in self._storage.blobs(PUBLISHED, NEWEST)]
            if names and (self._newest is None or self._newest.name != names[-1]):
                self._newest = self._view(names[-1])
            self.problem = ""
        except _PROBLEMS as error:
            self.problem = f"the newest document cannot be read: {error}"
            if self._newest is None and names:
                self._newest = self._last_good(names[:-1])

    def _last_good(self, names: Sequence[str]) -> LineageView | None:
        for name in reversed(names):
            with suppress(*_PROBLEMS):
                return self._view(name)
        with suppress(NotReadableError):
            days = self._names()
            return self._past_view(sorted(days, reverse=True), days)
        return None

    def _view(self, name: str, *, title: str = "Lineage") -> LineageView:
        return LineageView(decoded(self._content(name)), name, title=title)

    def _content(self, name: str) -> bytes:
        content = self._storage.get(PUBLISHED, name)
        if content is None:
            raise FileNotFoundError(f"{name} is gone")
        return gzip.decompress(content)

    def days(self) -> tuple[date, ...]:
        """As the protocol says."""
        return tuple(sorted(self._names()))

    def _names(self) -> dict[date, str]:
        """The blobs of days, of two of a day the one with the whole document. Raises NotReadableError."""
        try:
            names = sorted((fact.name for fact in self._storage.blobs(PUBLISHED, DAILY)), key=len, reverse=True)
        except StorageUnavailable as error:
            raise NotReadableError(str(error)) from error
        return {day[0]: name for name in names if (day := day_of_document(name))}

    def _past_document(self, name: str) -> LineageDocument:
        """The document of a day: whole, or the difference from that of another day. Raises what reading may."""
        data, dates = self._content(name), day_of_document(name)
        if dates is None or dates[1] is None:
            return decoded(data)
        return restored(self._past_document(daily_document(dates[1])), data)

    def of(self, day: date) -> LineageView:
        """As the protocol says."""
        newest = self.newest()
        if newest.name.startswith(NEWEST) and day >= date.fromisoformat(newest.name.removeprefix(NEWEST)[:_DAY]):
            return newest
        names = self._names()
        candidates = sorted((candidate for candidate in names if candidate <= day), reverse=True)
        if not candidates:
            first = f"the first one is of {min(names)}" if names else "there is none of an earlier day yet"
            raise NotPublishedError(f"there is no document of {day} or before: {first}")
        with self._past_reading:
            if self._past is None or self._past[0] != names[candidates[0]]:
                self._past = None  # two of these are not held at a time
                self._past = names[candidates[0]], self._past_view(candidates, names)
            return self._past[1]

    def _past_view(self, days: Sequence[date], names: Mapping[date, str]) -> LineageView:
        """The document of the first of these days that can be read."""
        problem = ""
        for day in days:
            try:
                document = self._past_document(names[day])
            except StorageUnavailable as error:
                raise NotReadableError(f"the document of {day} cannot be read: {error}") from error
            except _PROBLEMS as error:
                problem = problem or f"the document of {day} cannot be read: {error}"
                continue
            self._report(problem)
            return LineageView(document, names[day], title=f"Lineage of {day}", problem=problem)
        self._report(problem)
        raise NotReadableError(problem)


_PROBLEMS = (StorageUnavailable, UnreadableDocumentError, OSError, EOFError, zlib.error)
_DAY = len("20261126")
_NOT_PUBLISHED = (
    "no document is published yet: the sweeper publishes one within a minute after the first lineage, if"
    " THROUGHLINE_DOCUMENT is true"
)
