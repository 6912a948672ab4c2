"""What one process remembers of the applications that it has folded. It only saves calls: commits are conditional."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.applications.state import ApplicationState, RunRecord
from shared.storage.port import Row

_MOST_DIGESTS = 200_000
_MOST_PARTS = 256
_MOST_COMMITS = 128
_MOST_RECORDS = 256
_KEPT_SECONDS = 3600.0
"""How long a commit is remembered: a header that was forgotten may be made again, with smaller versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedCommit:
    """The last commit of this process to an application: the header's etag, the state, and records of runs. While the
    header has this etag, these are what is stored. `until`: when it is forgotten, in seconds of the monotonic clock.
    """

    etag: str
    state: ApplicationState
    records: Mapping[str, RunRecord]
    until: float


class FoldMemory:
    """For all threads of a process: the events, runs and applications that it has folded, the applications with many
    events that are not folded yet, and recently read parts of long states.
    """

    def __init__(self) -> None:
        self._folded: OrderedDict[str, None] = OrderedDict()
        self._crowded: OrderedDict[str, None] = OrderedDict()
        self._parts: OrderedDict[str, Row] = OrderedDict()
        self._commits: OrderedDict[str, RememberedCommit] = OrderedDict()
        self._lock = threading.Lock()

    def note_folded(self, ids: Iterable[str]) -> None:
        """Remember digests of events, and ids of runs and applications."""
        with self._lock:
            for identifier in ids:
                self._folded[identifier] = None
            while len(self._folded) > _MOST_DIGESTS:
                self._folded.popitem(last=False)

    def has_folded(self, identifier: str) -> bool:
        """Whether this process has folded this event (by digest), run or application."""
        return identifier in self._folded

    def note_commit(
        self, application: str, previous_etag: str, etag: str, state: ApplicationState, records: Mapping[str, RunRecord]
    ) -> None:
        """Remember a commit in place of the header with `previous_etag`."""
        with self._lock:
            previous = self._commits.pop(application, None)
            if previous and previous.etag == previous_etag and len(previous.records) < _MOST_RECORDS:
                records = {**previous.records, **records}
            until = time.monotonic() + _KEPT_SECONDS
            self._commits[application] = RememberedCommit(etag=etag, state=state, records=records, until=until)
            while len(self._commits) > _MOST_COMMITS:
                self._commits.popitem(last=False)

    def commit(self, application: str) -> RememberedCommit | None:
        """The last commit of this process to an application, if it is remembered."""
        commit = self._commits.get(application)
        return commit if commit and time.monotonic() < commit.until else None

    def note_crowded(self, application: str, *, crowded: bool) -> None:
        """Remember whether an application has many events that are not folded."""
        with self._lock:
            if crowded:
                self._crowded[application] = None
                while len(self._crowded) > _MOST_PARTS:
                    self._crowded.popitem(last=False)
            else:
                self._crowded.pop(application, None)

    def is_crowded(self, application: str) -> bool:
        """Whether an application had many events that were not folded, when it was read last."""
        return application in self._crowded

    def note_part(self, digest: str, row: Row) -> None:
        """Remember a part of a state by the digest of its content."""
        with self._lock:
            self._parts[digest] = row
            while len(self._parts) > _MOST_PARTS:
                self._parts.popitem(last=False)

    def part(self, digest: str) -> Row | None:
        """The part of a state with this digest, if it was read recently."""
        return self._parts.get(digest)
