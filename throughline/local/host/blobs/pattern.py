"""The blob pattern of a trigger's path."""

import re

RECEIPTS = "azure-webjobs-hosts"
"""The container of the host's own state, as in Azure."""


class Pattern:
    """A trigger's `path`: a container, and a blob pattern with `{names}`; without one every blob matches."""

    def __init__(self, path: str) -> None:
        self.container, _, blob = path.partition("/")
        pieces = re.split(r"\{(\w+)\}", blob or "{name}")  # literal, name, literal, name, … literal
        self.prefix = pieces[0]
        parts = (f"(?P<{piece}>.*)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces))
        self._regex = re.compile("".join(parts), re.DOTALL)

    def match(self, blob: str) -> dict[str, str] | None:
        """Return the values of the names, or None when the blob does not match."""
        found = self._regex.fullmatch(blob)
        return found.groupdict() if found else None
