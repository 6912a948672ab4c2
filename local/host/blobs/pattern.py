"""Which blobs a trigger means."""

import re

RECEIPTS = "azure-webjobs-hosts"
"""The container in which the host keeps what it must remember, as in Azure."""


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
