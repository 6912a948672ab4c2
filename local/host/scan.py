"""What a blob trigger knows: which blobs it means, and which versions of them have been queued before."""

import heapq
import re

from local.host.index import Function
from local.host.storage import Storage

RECEIPTS = "azure-webjobs-hosts"
"""The container in which receipts lie, as in Azure."""

_OVERLAP = 250  # names before the last one seen that every look takes in

Version = tuple[str, str]
"""A blob's name and ETag."""


class Pattern:
    """A trigger's `path`: a container, and a pattern with `{names}` for the blob; without one every blob is meant."""

    def __init__(self, path: str) -> None:
        self.container, _, blob = path.partition("/")
        pieces = re.split(r"\{(\w+)\}", blob or "{name}")  # literal, name, literal, name, … literal
        self.prefix = pieces[0]
        parts = (f"(?P<{piece}>.*)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
        self._regex = re.compile("".join(parts), re.DOTALL)

    def match(self, blob: str) -> dict[str, str] | None:
        """Return what the names stand for, or None when the blob is not meant."""
        found = self._regex.fullmatch(blob)
        return found.groupdict() if found else None


class Trigger:
    """One function's blob trigger. Receipts are read once; afterwards a look costs one listing and no call a blob."""

    def __init__(self, function: Function, source: Storage, host_id: str) -> None:
        self.function = function
        self.source = source
        self.pattern = Pattern(function.trigger.data["path"])
        self.seen: set[Version] = set()
        self._receipts = f"blobreceipts/{host_id}/{function.id}/"

    def receipt(self, version: Version) -> str:
        """Return the name of the receipt for one version of a blob."""
        name, etag = version
        return f"{self._receipts}{etag}/{self.pattern.container}/{name}"

    def load(self, own: Storage) -> None:
        """Read from the names of the receipts what has been queued before."""
        for receipt, _ in own.list_blobs(RECEIPTS, self._receipts):
            etag, _, path = receipt.removeprefix(self._receipts).partition("/")
            self.seen.add((path.partition("/")[2], etag))

    def look(self, after: str = "") -> tuple[list[Version], set[Version]]:
        """List the container, or what comes after a name in it.

        Returns the versions not seen before, and the seen ones that are gone or overwritten.
        """
        blobs = self.source.list_blobs(self.pattern.container, self.pattern.prefix, after)
        listed = {version for version in blobs if self.pattern.match(version[0]) is not None}
        expected = {version for version in self.seen if version[0] > after} if after else self.seen
        return sorted(listed - self.seen), expected - listed

    def watermark(self) -> str:
        """Return a name a little before the last one seen: names mostly grow with time, so new ones come behind it.

        "" when a look at everything costs no more, or when the storage can't begin at a name.
        """
        if not self.source.emulated or len(self.seen) < 2 * _OVERLAP:
            return ""
        return heapq.nlargest(_OVERLAP, (name for name, _ in self.seen))[-1]
