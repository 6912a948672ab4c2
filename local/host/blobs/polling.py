"""How a polling blob trigger finds blobs: one strategy for real accounts, another for the emulator.

Both are those of the extension 5.3 (azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Blobs), with their
flaws: `ScanBlobScanLogHybridPollingStrategy` lists one page each ten seconds, and `ScanContainersStrategy`, chosen for
the emulator, lists all each two seconds but takes only what is newer than the newest blob it has seen. Storage keeps
whole seconds, so a blob written in the second of the last look, after the look, is never found.
The logs that the real strategy also reads do not exist on Azurite.
"""

import json
from abc import ABC, abstractmethod
from collections import deque
from datetime import UTC, datetime, timedelta

from local.host.blobs.pattern import RECEIPTS, Pattern
from local.host.blobs.stored import Listed
from local.host.index import Function
from local.host.storage import HostStorage

_NEVER = datetime.min.replace(tzinfo=UTC)
_SAFETY = timedelta(milliseconds=1)  # what a restarted host looks at again, as the real one does


class Strategy(ABC):
    """One function's look at its container."""

    interval: float
    """Seconds from the end of a look to the next."""

    def __init__(self, function: Function, source: HostStorage) -> None:
        self.function = function
        self.source = source
        self.pattern = Pattern(function.trigger.data["path"])
        self.again: deque[str] = deque()
        """Names of blobs that are to be looked at again."""

    def begin(self) -> None:  # noqa: B027 -- only one strategy has something to do
        """Do what is needed before the first look. StorageRefusedError when it is forbidden."""

    def look(self) -> list[str]:
        """The names of blobs that may be new, those to be looked at again first."""
        names = [self.again.popleft() for _ in range(len(self.again))]
        names += [blob.name for blob in self._new() if self.pattern.match(blob.name) is not None]
        return names

    def queued(self) -> None:  # noqa: B027 -- the same
        """Note that what the last look found has been queued, as far as it could be."""

    @abstractmethod
    def _new(self) -> list[Listed]:
        """What the container has that was not there at the last look."""


class EmulatorStrategy(Strategy):
    """Each two seconds all blobs that are newer, in whole seconds, than the newest one seen."""

    interval = 2.0
    _last = _NEVER

    def _new(self) -> list[Listed]:
        blobs = list(self.source.list_blobs(self.pattern.container, ""))
        new = [blob for blob in blobs if blob.modified > self._last]
        self._last = max((blob.modified for blob in new), default=self._last)
        return new


class AccountStrategy(Strategy):
    """Each ten seconds one page of blobs; what is newer than the newest blob of the last whole pass is new."""

    interval = 10.0
    page = 5000

    def __init__(self, function: Function, source: HostStorage, own: HostStorage, host_id: str) -> None:
        super().__init__(function, source)
        self._own = own
        self._note = f"blobscaninfo/{host_id}/{source.account}/{self.pattern.container}/scanInfo"
        self._marker = ""
        self._last_pass = self._this_pass = self._stored = _NEVER

    def begin(self) -> None:
        """Turn on the account's logs, as the extension does at its start, and read how far an earlier host came."""
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
        """Note how far this host came, for the next one; not while a blob waits to be looked at again."""
        if self._last_pass > self._stored and not self.again:
            self._stored = self._last_pass
            note = {"LatestScan": (self._last_pass - _SAFETY).isoformat()}
            self._own.put_blob(RECEIPTS, self._note, json.dumps(note).encode(), kind="write note")
