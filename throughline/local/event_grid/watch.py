"""Find the new blobs of a container."""

import heapq
import time
from datetime import datetime

from throughline.local.host.blobs import Pattern
from throughline.local.host.storage import HostStorage, Listed

_SCAN_PAUSE = 9  # after a listing of t seconds at least 9 t pass until the next whole one: it keeps Azurite fully busy
_OVERLAP = 250  # names before the last one seen that every listing includes


class BlobWatch:
    """The blobs of a path.

    Names of events mostly grow with time. So when listing them all takes long, most looks list only the last names.
    `since` leaves out older blobs in the first look.
    """

    def __init__(self, storage: HostStorage, pattern: Pattern, since: datetime | None) -> None:
        self._storage, self._pattern, self._since = storage, pattern, since
        self._seen: dict[str, str] = {}
        self._next_full = 0.0

    def look(self) -> list[Listed]:
        """Return the versions of blobs that no earlier look has returned. Raises StorageError."""
        start = time.monotonic()
        last_name = "" if start >= self._next_full else self.watermark()
        listed = {
            blob.name: blob
            for blob in self._storage.list_blobs(self._pattern.container, self._pattern.prefix, last_name)
            if self._pattern.matches(blob.name)
        }
        new = [blob for name, blob in listed.items() if self._seen.get(name) != blob.etag]
        if self._since is not None:
            new, self._since = [blob for blob in new if blob.modified >= self._since], None
        if not last_name:
            self._seen.clear()  # deleted blobs are forgotten
            self._next_full = time.monotonic() + _SCAN_PAUSE * (time.monotonic() - start)
        self._seen.update((name, blob.etag) for name, blob in listed.items())
        return new

    def watermark(self) -> str:
        """Return a name a little before the last one seen; "" when listing everything costs no more."""
        if len(self._seen) < 2 * _OVERLAP:
            return ""
        return heapq.nlargest(_OVERLAP, self._seen)[-1]
