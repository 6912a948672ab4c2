"""How a polling blob trigger finds blobs: one strategy for real accounts, another for the emulator.

Both are those of the extension 5.3 (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs), with their
flaws: `ScanBlobScanLogHybridPollingStrategy` lists one page every ten seconds. `ScanContainersStrategy`, for the
emulator, lists all blobs every two seconds but takes only those newer than the newest one it has seen; storage keeps
whole seconds, so a blob written in the second of a listing, after it, is never found. The logs that the real strategy
also reads do not exist on Azurite.
"""

import json
from abc import ABC, abstractmethod
from collections import deque
from datetime import UTC, datetime, timedelta

from throughline.local.host.blobs.pattern import RECEIPTS, Pattern
from throughline.local.host.blobs.stored import Listed
from throughline.local.host.index import Function
from throughline.local.host.storage import HostStorage

_NEVER = datetime.min.replace(tzinfo=UTC)
_SAFETY = timedelta(milliseconds=1)  # a restarted host lists these again, as the real one does


class Strategy(ABC):
    """How one function's container is polled."""

    interval: float
    """Seconds from the end of a listing to the next."""

    def __init__(self, function: Function, source: HostStorage) -> None:
        self.function = function
        self.source = source
        self.pattern = Pattern(function.trigger.data["path"])
        self.again: deque[str] = deque()
        """Names of blobs to try again."""

    def begin(self) -> None:  # noqa: B027 -- only one strategy has something to do
        """Prepare the first listing. Raises StorageRefusedError when storage forbids it."""

    def look(self) -> list[str]:
        """Return the names of blobs that may be new, those to try again first."""
        names = [self.again.popleft() for _ in range(len(self.again))]
        names += [blob.name for blob in self._new() if self.pattern.match(blob.name) is not None]
        return names

    def queued(self) -> None:  # noqa: B027 -- the same
        """Record that the blobs of the last listing have been queued, as far as possible."""

    @abstractmethod
    def _new(self) -> list[Listed]:
        """Return the blobs that have been added since the last listing."""


class EmulatorStrategy(Strategy):
    """Every two seconds, finds all blobs that are newer, in whole seconds, than the newest one seen."""

    interval = 2.0
    _last = _NEVER

    def _new(self) -> list[Listed]:
        blobs = list(self.source.list_blobs(self.pattern.container, ""))
        new = [blob for blob in blobs if blob.modified > self._last]
        self._last = max((blob.modified for blob in new), default=self._last)
        return new


class AccountStrategy(Strategy):
    """Every ten seconds, lists one page of blobs; those newer than the newest one of the last whole pass are new."""

    interval = 10.0
    page = 5000

    def __init__(self, function: Function, source: HostStorage, own: HostStorage, host_id: str) -> None:
        super().__init__(function, source)
        self._own = own
        self._note = f"blobscaninfo/{host_id}/{source.account}/{self.pattern.container}/scanInfo"
        self._marker = ""
        self._last_pass = self._this_pass = self._stored = _NEVER

    def begin(self) -> None:
        """Turn on the account's logs, as the extension does at its start, and read an earlier host's progress."""
        self.source.log_writes()
        note = self._own.get_blob(RECEIPTS, self._note, kind="read note")
        if note is not None:
            self._last_pass = self._stored = datetime.fromisoformat(json.loads(note.data)["LatestScan"])

    def _new(self) -> list[Listed]:
        if not self._marker:
            self._this_pass = _NEVER
        blobs, marker = self.source.list_page(self.pattern.container, "", self._marker, self.page)
        self._this_pass = max([self._this_pass, *(blob.modified for blob in blobs)])
        new = [blob for blob in blobs if blob.modified >= self._last_pass]
        self._marker = marker or ""
        if marker is None:
            self._last_pass = max(self._last_pass, self._this_pass)
        return new

    def queued(self) -> None:
        """Store this host's progress for the next one, unless a blob waits to be tried again."""
        if self._last_pass > self._stored and not self.again:
            self._stored = self._last_pass
            note = {"LatestScan": (self._last_pass - _SAFETY).isoformat()}
            self._own.put_blob(RECEIPTS, self._note, json.dumps(note).encode(), kind="write note")
